// Package rights reads the rights that a manifest gives the daemon, and records which
// of these rights the tests use.
package rights

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-k8s/fairlead/internal/manifest"
	"github.com/fairlead-k8s/fairlead/test/internal/audit"
)

const authenticationReader = "extension-apiserver-authentication-reader"

// Right is the right to use one verb on one resource.
type Right struct {
	account string // of a controller; empty means the daemon's user

	verb, group, resource, subresource string

	namespace string // empty means all namespaces
	name      string // empty means all objects
}

func (r Right) String() string {
	s := r.verb + " " + strings.TrimSuffix(r.resource+"/"+r.subresource, "/")
	if r.name != "" {
		s += " " + r.name
	}
	if r.account != "" {
		s += " as " + r.account
	}
	return s
}

// Covers reports whether this right is the one that the request needs.
func (r Right) Covers(q audit.Request) bool {
	if r.verb == "approve" { // The API server asks for the right to approve when an approval is written.
		return Right{account: r.account, verb: "update", group: r.group, resource: "certificatesigningrequests", subresource: "approval"}.Covers(q)
	}
	user := audit.DaemonUser
	if r.account != "" {
		user = audit.Account(r.account)
	}
	return q.User.Username == user && q.Verb == r.verb && q.Object.Group == r.group && q.Object.Resource == r.resource && q.Object.Subresource == r.subresource &&
		(r.namespace == "" || q.Object.Namespace == r.namespace) && (r.name == "" || q.Object.Name == r.name)
}

// Access has the objects of a manifest that give the daemon its rights.
type Access []*unstructured.Unstructured

// Of returns the Access of a manifest.
func Of(file string) (Access, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return manifest.Access(string(text), audit.DaemonUser, audit.OptionalAccounts...)
}

// Rights returns the rights that the objects give. A binding to the role
// authenticationReader, which every API server has, counts as one right.
func (a Access) Rights() []Right {
	var all []Right
	for _, o := range a {
		if isReader(o) {
			all = append(all, readsAuthorities)
		}
		all = append(all, a.of(o)...)
	}
	return all
}

// of returns the rights that a role gives. It returns none if the object is not a role.
func (a Access) of(role *unstructured.Unstructured) []Right {
	var all []Right
	for _, rule := range rulesOf(role) {
		for _, r := range expand(rule, role.GetNamespace()) {
			r.account = a.holder(role)
			all = append(all, r)
		}
	}
	return all
}

// holder returns the name of the service account that has a role. It returns "" if
// the daemon's user has the role.
func (a Access) holder(role *unstructured.Unstructured) string {
	for _, o := range a {
		var binding rbacv1.ClusterRoleBinding
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &binding); err != nil {
			panic(err) // The API server would refuse the object, too.
		}
		if binding.RoleRef.Name == role.GetName() && binding.Subjects[0].Kind == rbacv1.ServiceAccountKind {
			return binding.Subjects[0].Name
		}
	}
	return ""
}

// readsAuthorities is the right to read the authorities of client certificates. The
// role authenticationReader gives it.
var readsAuthorities = Right{verb: "get", resource: "configmaps", namespace: metav1.NamespaceSystem, name: "extension-apiserver-authentication"}

func isReader(o *unstructured.Unstructured) bool {
	name, _, _ := unstructured.NestedString(o.Object, "roleRef", "name")
	return name == authenticationReader
}

func rulesOf(o *unstructured.Unstructured) []rbacv1.PolicyRule {
	var role rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
		panic(err) // The API server would refuse the object, too.
	}
	return role.Rules
}

func expand(rule rbacv1.PolicyRule, namespace string) []Right {
	var all []Right
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			resource, sub, _ := strings.Cut(resource, "/")
			for _, verb := range rule.Verbs {
				for _, name := range names {
					all = append(all, Right{verb: verb, group: group, resource: resource, subresource: sub, namespace: namespace, name: name})
				}
			}
		}
	}
	return all
}

// Without returns a copy that lacks one right.
func (a Access) Without(less Right) Access {
	var rest Access
	for _, o := range a {
		if isReader(o) && less.resource == "configmaps" {
			continue
		}
		changed := o.DeepCopy()
		if all := a.of(o); len(all) > 0 {
			var left []any
			for _, r := range all {
				if r != less {
					left = append(left, r.rule())
				}
			}
			changed.Object["rules"] = left
		}
		rest = append(rest, changed)
	}
	return rest
}

func (r Right) rule() map[string]any {
	rule := map[string]any{
		"apiGroups": []any{r.group}, "resources": []any{strings.TrimSuffix(r.resource+"/"+r.subresource, "/")}, "verbs": []any{r.verb},
	}
	if r.name != "" {
		rule["resourceNames"] = []any{r.name}
	}
	return rule
}

// In returns the rights that an account has in a namespace.
func (a Access) In(namespace, account string) map[Right]bool {
	all := map[Right]bool{}
	for _, r := range a.Rights() {
		if r.account == account && (r.namespace == "" || r.namespace == namespace) {
			r.account, r.namespace = "", ""
			all[r] = true
		}
	}
	return all
}

// Accounts returns the controllers' accounts that get rights from the objects.
func (a Access) Accounts() []string {
	var all []string
	for _, r := range a.Rights() {
		if r.account != "" && !slices.Contains(all, r.account) {
			all = append(all, r.account)
		}
	}
	return all
}

// GrantedTo asks the API server for the rights of a client in a namespace.
func GrantedTo(ctx context.Context, who kubernetes.Interface, namespace string) (map[Right]bool, error) {
	review, err := who.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	all := map[Right]bool{}
	for _, rule := range review.Status.ResourceRules {
		for _, r := range expand(rbacv1.PolicyRule{Verbs: rule.Verbs, APIGroups: rule.APIGroups, Resources: rule.Resources, ResourceNames: rule.ResourceNames}, "") {
			all[r] = true
		}
	}
	for _, rule := range review.Status.NonResourceRules {
		for _, path := range rule.NonResourceURLs {
			for _, verb := range rule.Verbs {
				all[Right{verb: verb, resource: path}] = true
			}
		}
	}
	// The role authenticationReader also gives the rights to list and to watch, but
	// Rights counts the role as one right.
	for _, verb := range []string{"list", "watch"} {
		r := readsAuthorities
		r.verb, r.namespace = verb, ""
		delete(all, r)
	}
	return all, nil
}

// Chart is the chart's manifest.
const Chart = "deploy/deployment.yaml"

// Usage records, for each right, the tests in which the daemon has used the right.
type Usage struct {
	mu    sync.Mutex
	tests map[Right][]string // guarded by mu
}

// Record adds the requests of a test.
func (u *Usage) Record(test string, all audit.Requests) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.tests == nil {
		u.tests = map[Right][]string{}
	}
	for _, q := range all {
		r := Right{verb: q.Verb, group: q.Object.Group, resource: q.Object.Resource, subresource: q.Object.Subresource}
		if q.Status.Code < http.StatusBadRequest && !slices.Contains(u.tests[r], test) {
			u.tests[r] = append(u.tests[r], test)
		}
	}
}

// String returns a line for each right. The line has the number of tests that use
// the right, and the names of up to three of these tests.
func (u *Usage) String() string {
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
