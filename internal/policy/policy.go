// Package policy makes a ValidatingAdmissionPolicy from the features that a
// provider declares. At "kubectl apply", the policy says which fields of a Service
// would have no effect.
//
// The API server evaluates the policy itself. There is no webhook that can be down.
package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// Config is the configuration of the policy.
type Config struct {
	// Name is the name of the policy and of its binding.
	Name string
	// Provider is the provider's name, for messages.
	Provider string
	// Classes are the values of spec.loadBalancerClass that this daemon serves. It also
	// serves Services without a class, unless ClassesOnly is true.
	Classes     []string
	ClassesOnly bool
	// Action is the action for a Service with a field that has no effect.
	Action   admissionv1.ValidationAction
	Features cloud.Features
}

// changed is an expression that is true if a request creates a Service, or changes its
// spec or its annotations. Other requests cannot begin to use a field. For example, a
// new label or the daemon's finalizer causes no warning.
const changed = "oldObject == null || object.spec != oldObject.spec || " +
	"(has(object.metadata.annotations) ? object.metadata.annotations : {}) != (has(oldObject.metadata.annotations) ? oldObject.metadata.annotations : {})"

// ofClasses returns an expression that is true for the Services that the daemon
// serves.
func ofClasses(c Config) string {
	if c.ClassesOnly {
		return "has(object.spec.loadBalancerClass) && object.spec.loadBalancerClass in " + list(c.Classes)
	}
	return "!has(object.spec.loadBalancerClass) || object.spec.loadBalancerClass in " + list(c.Classes)
}

// Objects returns the policy and its binding. The policy does not cover Services
// that are being deleted, so it never blocks a deletion.
func Objects(c Config) (*admissionv1.ValidatingAdmissionPolicy, *admissionv1.ValidatingAdmissionPolicyBinding) {
	// If the policy cannot be evaluated, requests must not fail.
	ignore := admissionv1.Ignore
	name := metav1.ObjectMeta{Name: c.Name}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: name,
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &ignore,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"services"}},
				},
			}}},
			MatchConditions: []admissionv1.MatchCondition{
				{Name: "load-balancer", Expression: "object.spec.type == 'LoadBalancer' && !has(object.metadata.deletionTimestamp)"},
				{Name: "class", Expression: ofClasses(c)},
				{Name: "changed", Expression: changed},
			},
			Validations: validations(c),
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: name,
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: c.Name, ValidationActions: []admissionv1.ValidationAction{c.Action}},
	}
	return policy, binding
}

// rule describes a field that has no effect unless the provider declares it.
type rule struct {
	declared bool
	holds    string // an expression that is true for a Service that does not use the field
	field    string
	says     string
}

// before is an expression that is true if a request updates a Service that already had
// the type LoadBalancer.
const before = "oldObject != null && oldObject.spec.type == 'LoadBalancer'"

// validations returns one validation for each field that the provider does not
// declare. With the action Warn, the policy warns at each change of the spec or the
// annotations. With the action Deny, the policy refuses a change only if the Service
// begins to use the field. Otherwise a provider could not write an annotation, such as
// the ID of the load balancer, to a Service that already uses the field.
func validations(c Config) []admissionv1.Validation {
	var all []admissionv1.Validation
	former := rules("oldObject", c.Features)
	for n, r := range rules("object", c.Features) {
		if r.declared {
			continue
		}
		expression := r.holds
		if c.Action == admissionv1.Deny {
			expression = fmt.Sprintf("(%s) || (%s && !(%s))", r.holds, before, former[n].holds)
		}
		all = append(all, admissionv1.Validation{
			Expression: expression,
			Message:    fmt.Sprintf("%s %s: load balancers of the cloud provider %s do not support it.", r.field, r.says, c.Provider),
		})
	}
	return all
}

// rules returns the rules. The first argument is the variable that stands for the
// Service in their expressions: "object" or "oldObject".
func rules(object string, f cloud.Features) []rule {
	protocols, families := orDefault(f.Protocols, corev1.ProtocolTCP), orDefault(f.IPFamilies, corev1.IPv4Protocol)
	spec, annotations := object+".spec.", object+".metadata.annotations"
	ranges := strconv.Quote(corev1.AnnotationLoadBalancerSourceRangesKey)
	unknown := fmt.Sprintf("k, k.startsWith(%s) && !(k in %s)", strconv.Quote(f.AnnotationPrefix), list(f.Annotations))
	return []rule{
		{f.SessionAffinity, "!has(" + spec + "sessionAffinity) || " + spec + "sessionAffinity == 'None'", "spec.sessionAffinity", "is not implemented"},
		{f.SourceRanges, "!has(" + spec + "loadBalancerSourceRanges) || " + spec + "loadBalancerSourceRanges.size() == 0", "spec.loadBalancerSourceRanges", "is not implemented, so the load balancer may be open to everybody"},
		{
			f.SourceRanges, "!has(" + annotations + ") || !(" + ranges + " in " + annotations + ")",
			"metadata.annotations[" + corev1.AnnotationLoadBalancerSourceRangesKey + "]", "is not implemented, so the load balancer may be open to everybody",
		},
		{f.StaticAddress, "!has(" + spec + "loadBalancerIP) || " + spec + "loadBalancerIP == ''", "spec.loadBalancerIP", "is not implemented"},
		{
			f.MixedProtocols, "!has(" + spec + "ports) || " + spec + "ports.all(p, p.protocol == " + spec + "ports[0].protocol)",
			"spec.ports", "has several protocols, and one Service can have only one",
		},
		{false, "!has(" + spec + "ports) || " + spec + "ports.all(p, p.protocol in " + list(protocols) + ")", "spec.ports", "has a protocol other than " + words(protocols)},
		{false, "!has(" + spec + "ipFamilies) || " + spec + "ipFamilies.all(f, f in " + list(families) + ")", "spec.ipFamilies", "has a family other than " + words(families)},
		{
			f.AnnotationPrefix == "", "!has(" + annotations + ") || !" + annotations + ".exists(" + unknown + ")",
			"metadata.annotations", "has an unknown key that begins with " + f.AnnotationPrefix + "; known are " + words(f.Annotations),
		},
	}
}

func orDefault[T any](all []T, usual T) []T {
	if len(all) == 0 {
		return []T{usual}
	}
	return all
}

// list returns the words as a list in CEL, the language of the expressions.
func list[T ~string](all []T) string {
	quoted := make([]string, 0, len(all))
	for _, word := range all {
		quoted = append(quoted, strconv.Quote(string(word)))
	}
	slices.Sort(quoted)
	return "[" + strings.Join(quoted, ", ") + "]"
}

func words[T ~string](all []T) string {
	plain := make([]string, 0, len(all))
	for _, word := range all {
		plain = append(plain, string(word))
	}
	slices.Sort(plain)
	return strings.Join(plain, ", ")
}
