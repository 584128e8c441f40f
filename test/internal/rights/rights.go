package rights

import (
	"context"
	"os"
	"strings"

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
	verb, group, resource, subresource string

	namespace string // empty means all namespaces
	name      string // empty means all objects
}

func (r Right) String() string {
	s := r.verb + " " + strings.TrimSuffix(r.resource+"/"+r.subresource, "/")
	if r.name != "" {
		s += " " + r.name
	}
	return s
}

// Covers reports whether the request needs this right.
func (r Right) Covers(q audit.Request) bool {
	return q.Verb == r.verb && q.Object.Group == r.group && q.Object.Resource == r.resource && q.Object.Subresource == r.subresource &&
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
	return manifest.Access(string(text), audit.DaemonUser)
}

// Rights returns the rights that a gives. For the role that every API server has,
// the binding counts as one right.
func (a Access) Rights() []Right {
	var all []Right
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

// readsAuthorities is the right to read the authorities of client certificates,
// which the role of every API server gives.
var readsAuthorities = Right{"get", "", "configmaps", "", metav1.NamespaceSystem, "extension-apiserver-authentication"}

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
					all = append(all, Right{verb, group, resource, sub, namespace, name})
				}
			}
		}
	}
	return all
}

// Without returns a copy of a without one right.
func (a Access) Without(less Right) Access {
	var rest Access
	for _, o := range a {
		if isReader(o) && less.resource == "configmaps" {
			continue
		}
		o = o.DeepCopy()
		if rules := rulesOf(o); len(rules) > 0 {
			o.Object["rules"] = without(rules, o.GetNamespace(), less)
		}
		rest = append(rest, o)
	}
	return rest
}

// without returns the rules of a role without one right.
func without(rules []rbacv1.PolicyRule, namespace string, less Right) []any {
	var left []any
	for _, rule := range rules {
		for _, r := range expand(rule, namespace) {
			if r != less {
				left = append(left, r.rule())
			}
		}
	}
	return left
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

// In returns the rights that hold in a namespace.
func (a Access) In(namespace string) map[Right]bool {
	all := map[Right]bool{}
	for _, r := range a.Rights() {
		if r.namespace == "" || r.namespace == namespace {
			r.namespace = ""
			all[r] = true
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
	// The role of every API server also gives these two rights.
	for _, verb := range []string{"list", "watch"} {
		r := readsAuthorities
		r.verb, r.namespace = verb, ""
		delete(all, r)
	}
	return all, nil
}

// Chart is the chart's manifest.
const Chart = "deploy/deployment.yaml"
