package service

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

func withoutFinalizer(s *corev1.Service) { s.Finalizers = nil }

var onlyA = Config{Policy: Policy{Classes: list("a"), ClassesOnly: true, Resync: 12 * time.Hour}}

// A second daemon does not read the annotation. It cleans up, too, and later makes a
// load balancer for the Service. The old annotation must not lead the first daemon to
// claim this load balancer.
func TestAnnotationDoesNotOutliveTheFinalizer(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := begin(t, onlyA, balanced(class("a")), host("a"))
			defer func() { l.stop() }()
			l.after(time.Minute)
			l.update(internal, unclassed)
			l.update(withoutFinalizer) // The other daemon has cleaned up, too.
			l.after(time.Minute)
			if len(l.balancers) > 0 {
				t.Errorf("load balancers %v", l.balancers)
			}
			if restarts {
				l.stop()
			}
			l.update(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer })
			l.after(time.Second)
			l.change(func() { l.calls, l.events = nil, nil })
			l.update(held) // The other daemon makes a load balancer.
			if restarts {
				l.start()
			}
			l.after(time.Hour)
			l.expect("the skeleton's Service", nil, nil)
			if !hasFinalizer(l.service()) {
				t.Error("the skeleton's finalizer was removed")
			}
		})
	}
}

// The owner of another daemon's Service keeps forging the annotation, so that this
// daemon claims the Service.
func TestForgedClassesCostFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, onlyA, balanced(), host("a"))
		defer func() { l.stop() }()
		l.takes = time.Millisecond
		l.after(time.Minute)
		for range 600 {
			l.update(held, madeAs("a"))
			l.after(time.Second)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if n := len(l.calls); n > 15 {
			t.Errorf("%d calls in 10 minutes", n)
		}
	})
}

// Another daemon deletes the load balancer of a Service without a class. Meanwhile
// the Service gets a class that this daemon serves. Afterwards the other daemon
// removes the finalizer.
func TestLoadBalancerIsEnsuredAgainAfterAnotherDaemonHasCleanedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, onlyA, balanced(held), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.update(internal)
		l.after(time.Second)
		l.update(class("a"), func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer })
		l.after(20 * time.Second)
		l.change(func() { clear(l.balancers); l.calls = nil }) // the other daemon deletes the load balancer
		l.update(withoutFinalizer, func(s *corev1.Service) { delete(s.Annotations, AnnotationClass) })
		l.after(time.Minute)
		if !slices.Equal(l.calls, list("ensure s")) || len(l.balancers) != 1 {
			t.Errorf("calls %v, load balancers %v", l.calls, l.balancers)
		}
	})
}

// If the API server refuses the annotation, the load balancer still follows the
// nodes. The annotation is tried again after a pause.
func TestRefusedAnnotationDelaysNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{Policy: Policy{Classes: list("a"), Resync: 12 * time.Hour}}, balanced(class("a")), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.stop()
		l.change(func() { l.refuses = "class" })
		l.config = onlyA
		l.start()
		l.after(time.Minute)
		l.create(host("b"))
		l.after(time.Minute)
		if got := l.balancers["u1"]; !slices.Equal(got, list("a", "b")) {
			t.Errorf("backends %v", got)
		}
		if n := l.patches(); n > 30 {
			t.Errorf("%d patches", n)
		}
		l.change(func() { l.refuses = "" })
		l.after(repairPause)
		if got := l.service().Annotations[AnnotationClass]; got != "a" {
			t.Errorf("annotation %q", got)
		}
	})
}
