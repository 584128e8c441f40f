package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// fieldsOf returns the fields that the policy looks at.
func fieldsOf(f cloud.Features) []string {
	policy, _ := Objects(Config{Features: f})
	var fields []string
	for _, v := range policy.Spec.Validations {
		field, _, _ := strings.Cut(v.Message, " ")
		fields = append(fields, field)
	}
	return fields
}

func TestEachUndeclaredFieldIsLookedAt(t *testing.T) {
	const annotation = "metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]"
	all := []string{"spec.sessionAffinity", "spec.loadBalancerSourceRanges", annotation, "spec.loadBalancerIP", "spec.ports", "spec.ports", "spec.ipFamilies"}
	for _, tt := range []struct {
		name     string
		features cloud.Features
		want     []string
	}{
		{"NothingDeclared", cloud.Features{}, all},
		{"SessionAffinity", cloud.Features{SessionAffinity: true}, all[1:]},
		{"SourceRanges", cloud.Features{SourceRanges: true}, append([]string{all[0]}, all[3:]...)},
		{"StaticAddress", cloud.Features{StaticAddress: true}, append(slices.Clone(all[:3]), all[4:]...)},
		{"MixedProtocols", cloud.Features{MixedProtocols: true}, append(slices.Clone(all[:4]), all[5:]...)},
		{"Annotations", cloud.Features{AnnotationPrefix: "a/"}, append(slices.Clone(all), "metadata.annotations")},
		{"AllThatCanBeDeclared", cloud.Features{SessionAffinity: true, SourceRanges: true, StaticAddress: true, MixedProtocols: true}, all[5:]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, fieldsOf(tt.features)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestExpressions(t *testing.T) {
	policy, binding := Objects(Config{
		Name: "n", Provider: "p", Classes: []string{"b", "a"}, Action: admissionv1.Warn,
		Features: cloud.Features{
			SessionAffinity: true, SourceRanges: true, StaticAddress: true, MixedProtocols: true,
			Protocols: []corev1.Protocol{"UDP", "TCP"}, IPFamilies: []corev1.IPFamily{"IPv6"}, AnnotationPrefix: "acme/", Annotations: []string{"acme/'\"b", "acme/a"},
		},
	})
	var got []string
	for _, c := range policy.Spec.MatchConditions {
		got = append(got, c.Expression)
	}
	for _, v := range policy.Spec.Validations {
		got = append(got, v.Expression, v.Message)
	}
	want := []string{
		"object.spec.type == 'LoadBalancer' && !has(object.metadata.deletionTimestamp)",
		`!has(object.spec.loadBalancerClass) || object.spec.loadBalancerClass in ["a", "b"]`,
		"oldObject == null || object.spec != oldObject.spec || (has(object.metadata.annotations) ? object.metadata.annotations : {}) != (has(oldObject.metadata.annotations) ? oldObject.metadata.annotations : {})",
		`!has(object.spec.ports) || object.spec.ports.all(p, p.protocol in ["TCP", "UDP"])`,
		"spec.ports has a protocol other than TCP, UDP: load balancers of the cloud provider p do not support it.",
		`!has(object.spec.ipFamilies) || object.spec.ipFamilies.all(f, f in ["IPv6"])`,
		"spec.ipFamilies has a family other than IPv6: load balancers of the cloud provider p do not support it.",
		`!has(object.metadata.annotations) || !object.metadata.annotations.exists(k, k.startsWith("acme/") && !(k in ["acme/'\"b", "acme/a"]))`,
		`metadata.annotations has an unknown key that begins with acme/; known are acme/'"b, acme/a: load balancers of the cloud provider p do not support it.`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	only, _ := Objects(Config{Name: "n", Classes: []string{"a"}, ClassesOnly: true})
	if got, want := only.Spec.MatchConditions[1].Expression, `has(object.spec.loadBalancerClass) && object.spec.loadBalancerClass in ["a"]`; got != want {
		t.Errorf("without Services that have no class: %s, want %s", got, want)
	}
	if binding.Spec.PolicyName != "n" || binding.Spec.ValidationActions[0] != admissionv1.Warn || *policy.Spec.FailurePolicy != admissionv1.Ignore {
		t.Errorf("binding %+v of a policy that fails with %v", binding.Spec, *policy.Spec.FailurePolicy)
	}
}

// With the action Deny, the policy refuses a change only if the Service begins to
// use the field.
func TestDenyLooksAtTheFormerService(t *testing.T) {
	policy, binding := Objects(Config{Action: admissionv1.Deny, Features: cloud.Features{SessionAffinity: true, SourceRanges: true, MixedProtocols: true}})
	const want = "(!has(object.spec.loadBalancerIP) || object.spec.loadBalancerIP == '') || " +
		"(oldObject != null && oldObject.spec.type == 'LoadBalancer' && !(!has(oldObject.spec.loadBalancerIP) || oldObject.spec.loadBalancerIP == ''))"
	if diff := cmp.Diff(want, policy.Spec.Validations[0].Expression); diff != "" || binding.Spec.ValidationActions[0] != admissionv1.Deny {
		t.Errorf("%v, -want +got:\n%s", binding.Spec.ValidationActions, diff)
	}
}
