package provider_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// plain is a provider whose load balancers support source ranges and one
// annotation.
type plain struct{ cloudprovider.Interface }

func (plain) LoadBalancerFeatures() provider.LoadBalancerFeatures {
	return provider.LoadBalancerFeatures{
		SourceRanges:     true,
		Protocols:        []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP},
		AnnotationPrefix: "plain.example.com/",
		Annotations:      []string{"plain.example.com/size"},
	}
}

// For this provider, the daemon's sub-command "policy" prints a policy that warns of
// session affinity, static addresses, SCTP, mixed protocols and IPv6. The policy also
// warns of annotations such as plain.example.com/sise.
func ExampleFeatureDeclarer() {
	var cloud cloudprovider.Interface = plain{}
	declarer, ok := cloud.(provider.FeatureDeclarer)
	fmt.Println(ok, declarer.LoadBalancerFeatures().SessionAffinity)
	// Output: true false
}
