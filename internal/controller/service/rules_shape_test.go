package service

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestShape(t *testing.T) {
	for _, tt := range []struct {
		name    string
		edit    func(*corev1.Service)
		matters bool
	}{
		{"Annotation", func(s *corev1.Service) { s.Annotations = map[string]string{"a": "b"} }, true},
		{"OwnAnnotation", madeAs("a"), false},
		{"Port", edited, true},
		{"NodePort", func(s *corev1.Service) { s.Spec.Ports[0].NodePort = 1 }, true},
		{"Affinity", func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }, true},
		{"SourceRanges", func(s *corev1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} }, true},
		{"TrafficPolicy", func(s *corev1.Service) { s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }, true},
		{"HealthCheckNodePort", func(s *corev1.Service) { s.Spec.HealthCheckNodePort = 1 }, true},
		{"NodePortAllocation", func(s *corev1.Service) { s.Spec.AllocateLoadBalancerNodePorts = new(false) }, true},
		{"FamilyPolicy", func(s *corev1.Service) { s.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicyPreferDualStack) }, true},
		{"OrderOfFamilies", func(s *corev1.Service) {
			s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
		}, true},
		{"TrafficDistribution", func(s *corev1.Service) { s.Spec.TrafficDistribution = new("PreferClose") }, true},
		{"Label", func(s *corev1.Service) { s.Labels = map[string]string{"a": "b"} }, false},
		{"Selector", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"a": "b"} }, false},
		{"Status", addressed, false},
		{"Finalizer", finalized, false},
		{"InternalTrafficPolicy", func(s *corev1.Service) {
			s.Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
		}, false},
		{"Class", class("a"), true},
		{"ClusterIPs", func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.ClusterIPs = "10.0.0.1", []string{"10.0.0.1"} }, true},
		{"ClusterIP", func(s *corev1.Service) { s.Spec.ClusterIP = "10.0.0.1" }, false},
		{"PublishNotReadyAddresses", func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true }, false},
		{"AnnotationBesideOurs", func(s *corev1.Service) { s.Annotations = map[string]string{"a": "b", AnnotationClass: "c"} }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := shapeOf(balanced(tt.edit)) != shapeOf(balanced()); got != tt.matters {
				t.Errorf("matters: %v, want %v", got, tt.matters)
			}
		})
	}
}
