package e2e

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-k8s/fairlead/internal/manifest"
)

const authenticationReader = "extension-apiserver-authentication-reader" // a role of every API server

// right is what one rule allows, for one resource and one verb.
type right struct {
	verb, group, resource, subresource string

	namespace string // empty: in all
	name      string // empty: of all
}

func (r right) String() string {
	s := r.verb + " " + strings.TrimSuffix(r.resource+"/"+r.subresource, "/")
	if r.name != "" {
		s += " " + r.name
	}
	return s
}

// covers says whether the request needs this right.
func (r right) covers(q request) bool {
	return q.Verb == r.verb && q.Object.Group == r.group && q.Object.Resource == r.resource && q.Object.Subresource == r.subresource &&
		(r.namespace == "" || q.Object.Namespace == r.namespace) && (r.name == "" || q.Object.Name == r.name)
}

// access is what a manifest of the chart allows the daemon.
type access []*unstructured.Unstructured

// accessOf is that of a manifest, by its path in the repository.
func accessOf(file string) (access, error) {
	text, err := os.ReadFile(filepath.Join("../..", file))
	if err != nil {
		return nil, err
	}
	return manifest.Access(string(text), ccmUser)
}

// rights are what it allows, rule by rule. Of the role that every API server
// has, what counts is that it is bound.
func (a access) rights() []right {
	var all []right
	for _, o := range a {
		if isReader(o) {
			all = append(all, readsAuthorities)
		}
		for _, rule := range rulesOf(o) {
			all = append(all, expand(rule, o.GetNamespace())...)
		}
	}
	return all
}

// readsAuthorities is the right to read who vouches for requests.
var readsAuthorities = right{"get", "", "configmaps", "", metav1.NamespaceSystem, "extension-apiserver-authentication"}

func isReader(o *unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
	return name == authenticationReader
}

func rulesOf(o *unstructured.Unstructured) []rbacv1.PolicyRule {
	var role rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
		panic(err) // The API server would not have it either.
	}
	return role.Rules
}

func expand(rule rbacv1.PolicyRule, namespace string) []right {
	var all []right
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			resource, sub, _ := strings.Cut(resource, "/")
			for _, verb := range rule.Verbs {
				for _, name := range names {
					all = append(all, right{verb, group, resource, sub, namespace, name})
				}
			}
		}
	}
	return all
}

// without is the same with one right less.
func (a access) without(less right) access {
	var rest access
	for _, o := range a {
		if isReader(o) && less.resource == "configmaps" {
			continue
		}
		o = o.DeepCopy()
		if rules := rulesOf(o); len(rules) > 0 {
			var left []any
			for _, rule := range rules {
				for _, r := range expand(rule, o.GetNamespace()) {
					if r != less {
						left = append(left, r.rule())
					}
				}
			}
			o.Object["rules"] = left
		}
		rest = append(rest, o)
	}
	return rest
}

func (r right) rule() map[string]any {
	rule := map[string]any{
		"apiGroups": []any{r.group}, "resources": []any{strings.TrimSuffix(r.resource+"/"+r.subresource, "/")}, "verbs": []any{r.verb},
	}
	if r.name != "" {
		rule["resourceNames"] = []any{r.name}
	}
	return rule
}

// giveRights gives those of the manifest. Without one they are the chart's,
// which the playground has given.
func (b *bed) giveRights(ctx context.Context, file string) (err error) {
	if b.access, err = accessOf(cmp.Or(file, deployment)); err != nil {
		return err
	}
	if file != "" {
		return b.give(ctx, b.access)
	}
	return b.awaitRights(ctx, b.access)
}

// withThoseOf lets the daemons of this test have the rights of another manifest.
func (b *bed) withThoseOf(t *testing.T, file string) {
	t.Helper()
	other, err := accessOf(file)
	if err != nil {
		t.Fatal(err)
	}
	b.with(t, other)
	cleanup(t, func(ctx context.Context) error { return b.give(ctx, b.access) })
}

func (b *bed) with(t *testing.T, all access) {
	t.Helper()
	if err := b.give(t.Context(), all); err != nil {
		t.Fatal(err)
	}
}

// give gives the daemon's user these rights and no other, and returns when the
// API server knows them.
func (b *bed) give(ctx context.Context, all access) error {
	rbac, of := b.admin.RbacV1(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=" + ccmUser}
	var none metav1.DeleteOptions
	err := errors.Join(
		rbac.ClusterRoleBindings().DeleteCollection(ctx, none, of), rbac.ClusterRoles().DeleteCollection(ctx, none, of),
		rbac.RoleBindings(metav1.NamespaceSystem).DeleteCollection(ctx, none, of), rbac.Roles(metav1.NamespaceSystem).DeleteCollection(ctx, none, of),
	)
	if err != nil {
		return err
	}
	to, err := b.manifests()
	if err != nil {
		return err
	}
	for _, o := range all {
		if err := to.Apply(ctx, o); err != nil {
			return err
		}
	}
	return b.awaitRights(ctx, all)
}

// manifests is where they are applied.
func (b *bed) manifests() (manifest.Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", b.cluster.Kubeconfig)
	if err != nil {
		return manifest.Cluster{}, err
	}
	return manifest.In(config)
}

// awaitRights returns when the API server grants the daemon's user these rights
// and no other, apart from those that everybody has.
func (b *bed) awaitRights(ctx context.Context, all access) error {
	daemon, err := client(b.cluster.CCMKubeconfig)
	if err != nil {
		return err
	}
	stranger, err := b.stranger()
	if err != nil {
		return err
	}
	var problem error
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, soon, true, func(ctx context.Context) (bool, error) {
		problem = nil
		for _, namespace := range []string{metav1.NamespaceSystem, metav1.NamespaceDefault} {
			everybodys, err := granted(ctx, stranger, namespace)
			if err != nil {
				return false, err
			}
			has, err := granted(ctx, daemon, namespace)
			if err != nil {
				return false, err
			}
			maps.DeleteFunc(has, func(r right, _ bool) bool { return everybodys[r] })
			problem = errors.Join(problem, differ("rights in "+namespace, all.in(namespace), has))
		}
		return problem == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the daemon's rights are not those of the manifest (is bin/playground older than this tree?): %w", errors.Join(err, problem))
	}
	return nil
}

// stranger is somebody to whom nothing is bound.
func (b *bed) stranger() (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", b.cluster.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.Impersonate = rest.ImpersonationConfig{UserName: "stranger", Groups: []string{"system:authenticated"}}
	return kubernetes.NewForConfig(config)
}

// in are those that hold in a namespace.
func (a access) in(namespace string) map[right]bool {
	all := map[right]bool{}
	for _, r := range a.rights() {
		if r.namespace == "" || r.namespace == namespace {
			r.namespace = ""
			all[r] = true
		}
	}
	return all
}

// granted is what the API server says to whoever asks what it may do there.
func granted(ctx context.Context, who kubernetes.Interface, namespace string) (map[right]bool, error) {
	review, err := who.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	all := map[right]bool{}
	for _, rule := range review.Status.ResourceRules {
		for _, r := range expand(rbacv1.PolicyRule{Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames}, "") {
			all[r] = true
		}
	}
	for _, rule := range review.Status.NonResourceRules {
		for _, path := range rule.NonResourceURLs {
			for _, verb := range rule.Verbs {
				all[right{verb: verb, resource: path}] = true
			}
		}
	}
	// They come with the first, by a role that every API server has.
	for _, verb := range []string{"list", "watch"} {
		r := readsAuthorities
		r.verb, r.namespace = verb, ""
		delete(all, r)
	}
	return all, nil
}
