package provider

import corev1 "k8s.io/api/core/v1"

// FeatureDeclarer is a cloudprovider.Interface that says which fields of Services its
// load balancers implement. The daemon's sub-command "policy" makes a
// ValidatingAdmissionPolicy of the answer, so that users learn at "kubectl apply"
// which fields would have no effect. Without it, "policy" prints an error, and users
// learn from events or not at all which fields have no effect.
type FeatureDeclarer interface {
	// LoadBalancerFeatures returns what the provider implements. The answer must be
	// constant. It is asked for before Initialize, so it must not call the cloud.
	LoadBalancerFeatures() LoadBalancerFeatures
}

// LoadBalancerFeatures says which fields of Services of type LoadBalancer have an
// effect. The zero value of a field means that the provider ignores or refuses it.
type LoadBalancerFeatures struct {
	// SessionAffinity: spec.sessionAffinity ClientIP.
	SessionAffinity bool
	// SourceRanges: spec.loadBalancerSourceRanges, and the annotation of that name.
	SourceRanges bool
	// StaticAddress: the deprecated spec.loadBalancerIP.
	StaticAddress bool
	// MixedProtocols: ports with different protocols in one Service.
	MixedProtocols bool
	// Protocols of ports. Empty means TCP only.
	Protocols []corev1.Protocol
	// IPFamilies in spec.ipFamilies. Empty means IPv4 only.
	IPFamilies []corev1.IPFamily
	// AnnotationPrefix is what the keys of the provider's own annotations begin with,
	// such as "acme.example.com/". Keys with this prefix that are not in Annotations
	// have no effect. Empty means that annotations are not checked.
	AnnotationPrefix string
	Annotations      []string
}
