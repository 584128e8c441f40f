package skeleton

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

func TestService(t *testing.T) {
	balanced := func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer }
	served := func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "127.0.0.1"}}
	}
	finalized := func(s *corev1.Service) { s.Finalizers = []string{finalizer} }
	deleted := func(s *corev1.Service) { s.DeletionTimestamp = new(metav1.Now()) }
	classed := func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("a/b") }
	for _, tt := range []struct {
		name  string
		edits []func(*corev1.Service)
		want  step.Effect
	}{
		{"NewServiceGetsALoadBalancer", []func(*corev1.Service){balanced}, step.Create},
		{"ServedServiceIsEnsuredAfterAStart", []func(*corev1.Service){balanced, served, finalized}, step.Update},
		{"DeletedServiceIsCleanedUp", []func(*corev1.Service){balanced, served, finalized, deleted}, step.Delete},
		{"InternalServiceIsCleanedUp", []func(*corev1.Service){finalized}, step.Delete},
		{"ClassIsNotCheckedInACleanUp", []func(*corev1.Service){balanced, classed, finalized, deleted}, step.Delete},
		{"ServiceOfAClassStays", []func(*corev1.Service){balanced, classed}, step.None},
		{"InternalServiceStays", nil, step.None},
		{"DeletedServiceWithoutFinalizerStays", []func(*corev1.Service){balanced, deleted}, step.None},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}}
			for _, edit := range tt.edits {
				edit(s)
			}
			if got := Service(s); got.Effect != tt.want || got.Object != "service/ns/web" || got.Why == "" {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}
