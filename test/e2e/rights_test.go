package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-k8s/fairlead/internal/manifest"
)

const (
	deployment      = "deploy/deployment.yaml"
	serviceAccounts = "charts/fairlead/ci/service-accounts.golden.yaml"
	migration       = "charts/fairlead/ci/migration.golden.yaml"

	authenticationReader = "extension-apiserver-authentication-reader" // a role of every API server
)

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

// within says whether whoever has the other right has this one.
func (r right) within(other right) bool {
	covers := func(other, this string) bool { return other == "" || other == this }
	return (other.verb == r.verb || other.verb == rbacv1.VerbAll) && other.group == r.group && other.resource == r.resource &&
		other.subresource == r.subresource && covers(other.namespace, r.namespace) && covers(other.name, r.name)
}

func (all requests) needing(r right) requests { return all.where(r.covers) }

func (all requests) forbidden() requests {
	return all.where(func(q request) bool { return q.Status.Code == http.StatusForbidden })
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
			all = append(all, right{"get", "", "configmaps", "", "kube-system", "extension-apiserver-authentication"})
		}
		for _, rule := range rulesOf(o) {
			all = append(all, expand(rule, o.GetNamespace())...)
		}
	}
	return all
}

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
	granted, inQuestion := all.rights(), all.rights()
	for _, file := range []string{deployment, serviceAccounts, migration} {
		ours, err := accessOf(file)
		if err != nil {
			return err
		}
		inQuestion = append(inQuestion, ours.rights()...)
	}
	var wrong right
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, soon, true, func(ctx context.Context) (bool, error) {
		for _, wrong = range inQuestion {
			has, err := b.has(ctx, wrong)
			if err != nil || has != slices.ContainsFunc(granted, wrong.within) {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("the rights are not as they were given, first the one to %s (is bin/playground older than this tree?): %w", wrong, err)
	}
	return nil
}

// manifests is where they are applied.
func (b *bed) manifests() (manifest.Cluster, error) {
	config, err := clientcmd.BuildConfigFromFlags("", b.cluster.Kubeconfig)
	if err != nil {
		return manifest.Cluster{}, err
	}
	return manifest.In(config)
}

func (b *bed) has(ctx context.Context, r right) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: ccmUser, Groups: []string{"system:authenticated"},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: r.namespace, Verb: r.verb, Group: r.group, Resource: r.resource, Subresource: r.subresource, Name: r.name,
		},
	}}
	answer, err := b.admin.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return answer.Status.Allowed, nil
}

// The chart grants what the daemon uses, and nothing else; and whatever is
// taken away is missed. Each right that is used here is one without which every
// other test in which the daemon needs it fails too: see bed.check.
func TestRights(t *testing.T) {
	skipWithoutPrograms(t)
	// An API server that is older than streaming lists is asked for them in the old way.
	t.Setenv("KUBE_FEATURE_WatchListClient", "false")
	b, err := newBed(t.Context(), shared.programs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.close(); err != nil {
			t.Error(err)
		}
	})
	tried := map[right]bool{}
	for _, way := range []struct {
		name, manifest string
		flags          []string
	}{
		{"Default", deployment, nil},
		{"ServiceAccounts", serviceAccounts, []string{"--use-service-account-credentials"}},
		{"Migration", migration, []string{"--enable-leader-migration"}},
	} {
		t.Run(way.name, func(t *testing.T) {
			all, err := accessOf(way.manifest)
			if err != nil {
				t.Fatal(err)
			}
			granted := all.rights()
			b.with(t, all)
			b.exactlyUsed(t, granted, way.flags)
			for _, less := range granted {
				if tried[less] {
					continue
				}
				tried[less] = true
				t.Run("Without/"+strings.NewReplacer(" ", "-", "/", "-").Replace(less.String()), func(t *testing.T) {
					b.with(t, all.without(less))
					b.isMissed(t, less, way.flags)
				})
			}
		})
	}
}

// Whoever has the role that the provider of AWS publishes has all rights that
// the chart gives: with it the same tests pass.
func TestRightsAreWithinThoseOfAnotherVendor(t *testing.T) {
	ours, err := accessOf(deployment)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := accessOf("test/e2e/testdata/cloud-provider-aws.yaml")
	if err != nil {
		t.Fatal(err)
	}
	given := theirs.rights()
	for _, r := range ours.rights() {
		if !slices.ContainsFunc(given, r.within) {
			t.Errorf("it does not give the right to %s", r)
		}
	}
}

// exactlyUsed lets the daemon do all that it does.
func (b *bed) exactlyUsed(t *testing.T, granted []right, flags []string) {
	t.Helper()
	s := b.scene(t, flags, func() bool { return false })
	s.play(t)
	if err := s.daemon.stop(); err != nil { // The API server writes a watch down when it has ended.
		t.Fatal(err)
	}
	seen := s.requests(t)
	for _, r := range granted {
		if len(seen.ours().needing(r)) == 0 {
			t.Errorf("nothing uses the right to %s", r)
		}
	}
	for _, q := range slices.Concat(seen.ours(), seen.ofControllers()) {
		if q.Status.Code == http.StatusForbidden {
			t.Errorf("a right is missing: %s as %s", q, q.User.Username)
		}
	}
	if slices.Contains(flags, "--use-service-account-credentials") {
		for _, name := range controllerAccounts {
			if !slices.ContainsFunc(seen.ofControllers(), func(q request) bool { return strings.HasSuffix(q.User.Username, ":"+name) && q.writes() }) {
				t.Errorf("%s has written nothing", name)
			}
		}
	}
}

// isMissed shows that the daemon is refused something and that this is found.
func (b *bed) isMissed(t *testing.T, less right, flags []string) {
	t.Helper()
	var s *scene
	refused := func() bool { return len(s.requests(t).ours().forbidden().needing(less)) > 0 }
	s = b.scene(t, flags, refused)
	s.play(t)
	if !refused() {
		t.Fatalf("the daemon does all that it does without the right to %s", less)
	}
	if found := s.requests(t).ours().outsideEnvelope(nil); len(found) == 0 {
		t.Error("other tests would not find it")
	}
}

// usage is in which tests the daemon has used which right, whatever of.
type usage struct {
	mu    sync.Mutex
	tests map[right][]string // guarded by mu
}

var used = usage{tests: map[right][]string{}}

func (u *usage) record(test string, all requests) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, q := range all {
		r := right{verb: q.Verb, group: q.Object.Group, resource: q.Object.Resource, subresource: q.Object.Subresource}
		if q.Status.Code < http.StatusBadRequest && !slices.Contains(u.tests[r], test) {
			u.tests[r] = append(u.tests[r], test)
		}
	}
}

// String has a line for each right: without it, these tests fail.
func (u *usage) String() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	var lines []string
	for r, tests := range u.tests {
		slices.Sort(tests)
		lines = append(lines, fmt.Sprintf("e2e: the right to %s is used in %d tests: %s\n", r, len(tests), strings.Join(tests[:min(len(tests), 3)], ", ")))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
