package cloud

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/provider"
)

type declaring struct {
	vendor

	says func() provider.LoadBalancerFeatures
}

func (d declaring) LoadBalancerFeatures() provider.LoadBalancerFeatures { return d.says() }

func TestFeatures(t *testing.T) {
	if _, ok, err := wrap(vendor{}).Features(t.Context()); ok || err != nil {
		t.Errorf("a provider without the interface: %t, %v", ok, err)
	}
	kept := []corev1.Protocol{corev1.ProtocolUDP}
	declared, ok, err := wrap(declaring{says: func() provider.LoadBalancerFeatures { return provider.LoadBalancerFeatures{Protocols: kept} }}).Features(t.Context())
	kept[0] = "changed by the provider"
	if !ok || err != nil || declared.Protocols[0] != corev1.ProtocolUDP {
		t.Errorf("got %+v, %t, %v", declared, ok, err)
	}
	if _, ok, err := wrap(declaring{says: func() provider.LoadBalancerFeatures { panic("broken") }}).Features(t.Context()); ok || err == nil {
		t.Errorf("a panic: %t, %v", ok, err)
	}
}
