package service

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unaddressed is what the API server does when a Service gets another type.
func unaddressed(s *corev1.Service) { s.Status.LoadBalancer = corev1.LoadBalancerStatus{} }

// Linode's provider deletes the load balancer whose address is in the status.
func TestLoadBalancerThatIsFoundByItsAddressIsNotLeftBehind(t *testing.T) {
	lose := func(l *life) {
		if err := l.cluster.CoreV1().Services("ns").Delete(t.Context(), "s", metav1.DeleteOptions{}); err != nil { // by force: the finalizer is ignored
			t.Fatal(err)
		}
	}
	for name, end := range map[string]func(*life){
		"Deleted":               func(l *life) { l.update(terminating) },
		"DeletedByForce":        lose,
		"RecreatedUnderItsName": func(l *life) { lose(l); l.create(balanced(replaced, internal)) },
		"OfAnotherType":         func(l *life) { l.update(internal, unaddressed) },
		"OfAnotherClass":        func(l *life) { l.update(class("theirs"), unaddressed) },
		"OfAnotherTypeAfterARestart": func(l *life) {
			l.stop()
			l.change(func() { l.takes = time.Minute })
			l.start()
			l.after(time.Second)
			l.update(internal, unaddressed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, balanced(), host("a"))
				defer func() { l.stop() }()
				l.change(func() { l.byAddress = true })
				l.after(time.Minute)
				end(l)
				l.after(10 * time.Minute)
				if len(l.balancers) > 0 {
					t.Errorf("load balancers %v are left behind, calls %v", l.balancers, l.calls)
				}
			})
		})
	}
}
