package provider

import corev1 "k8s.io/api/core/v1"

// FeatureDeclarer is a cloudprovider.Interface that says which fields of Services its
// load balancers implement. The daemon's sub-command "policy" turns the answer into a
// ValidatingAdmissionPolicy. With that policy, "kubectl apply" tells users which
// fields would have no effect.
//
// Without it, "policy" prints an error. Users may then learn from events that a
// field has no effect, or they may never learn it.
type FeatureDeclarer interface {
	// LoadBalancerFeatures returns the fields that the provider implements. The
	// answer must be constant. The method is called before Initialize, so it must
	// not call the cloud.
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
	// AnnotationPrefix is the prefix of the keys of the provider's own annotations,
	// such as "acme.example.com/". A key that has this prefix and is not in
	// Annotations has no effect. Empty means that annotations are not checked.
	AnnotationPrefix string
	Annotations      []string
}
