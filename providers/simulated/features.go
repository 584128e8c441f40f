package simulated

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/provider"
)

var _ provider.FeatureDeclarer = (*Cloud)(nil)

// LoadBalancerFeatures implements provider.FeatureDeclarer.
func (c *Cloud) LoadBalancerFeatures() provider.LoadBalancerFeatures {
	f := provider.LoadBalancerFeatures{
		SessionAffinity: true, SourceRanges: true, StaticAddress: true, MixedProtocols: true,
		Protocols:        []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP},
		IPFamilies:       []corev1.IPFamily{corev1.IPv4Protocol},
		AnnotationPrefix: AnnotationPrefix,
	}
	for _, a := range Annotations() {
		f.Annotations = append(f.Annotations, string(a))
	}
	return f
}
