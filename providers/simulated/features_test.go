package simulated

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// The function wantedBy accepts each feature that is declared.
func TestDeclaredFeaturesAreImplemented(t *testing.T) {
	cloud, err := New(nil)
	diff(t, "error", nil, err)
	f := cloud.LoadBalancerFeatures()
	service := &corev1.Service{Spec: corev1.ServiceSpec{IPFamilies: f.IPFamilies, SessionAffinity: corev1.ServiceAffinityClientIP}}
	service.UID = "u"
	service.Annotations = map[string]string{}
	for _, a := range f.Annotations {
		service.Annotations[a] = map[string]string{string(AnnotationDrain): "30s"}[a]
	}
	service.Annotations[string(AnnotationSourceRanges)] = "10.0.0.0/8"
	for n, p := range f.Protocols {
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Port: int32(80 + n), NodePort: int32(30080 + n), Protocol: p})
	}
	wanted, err := wantedBy("c", service, nil)
	diff(t, "error", nil, err)
	diff(t, "listeners", len(f.Protocols), len(wanted.Listeners))
	diff(t, "source ranges", []string{"10.0.0.0/8"}, wanted.SourceRanges)
	if wanted.Affinity == 0 || !f.SessionAffinity || !f.SourceRanges || !f.StaticAddress || !f.MixedProtocols {
		t.Errorf("declared %+v, wanted %+v", f, wanted)
	}
}
