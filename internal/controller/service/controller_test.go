package service

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/testlog"
)

func TestMain(m *testing.M) { testlog.Run(m) }

func TestLifeOfAService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"), host("b"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.expect("new", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer"))
		s := l.service()
		if len(s.Status.LoadBalancer.Ingress) != 1 || findCondition(s, ConditionServing).Status != metav1.ConditionTrue || findCondition(s, ConditionProvisioning).Status != metav1.ConditionFalse {
			t.Errorf("status %+v", s.Status)
		}
		if got := l.patches(); got != 2 {
			t.Errorf("%d patches for a new Service, want 2", got)
		}
		l.update(edited)
		l.after(time.Minute)
		l.expect("changed", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer"))
		l.update(func(s *corev1.Service) { s.Labels = map[string]string{"a": "b"} })
		l.after(time.Hour)
		l.expect("labelled", nil, nil)
		l.update(internal)
		l.after(time.Minute)
		l.expect("of another type", list("delete s"), list("s DeletingLoadBalancer", "s DeletedLoadBalancer"))
		s = l.service()
		if len(s.Finalizers)+len(s.Status.LoadBalancer.Ingress)+len(s.Status.Conditions) > 0 || len(l.balancers) > 0 {
			t.Errorf("left over: %v, %+v, %v", s.Finalizers, s.Status, l.balancers)
		}
	})
}

func TestRestartWithoutNodesRecordsNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced())
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.expect("new", list("ensure s"), list("s EnsuringLoadBalancer", "s EnsuredLoadBalancer", "s UnAvailableLoadBalancer"))
		l.stop()
		l.start()
		l.after(time.Hour)
		l.expect("restarted", list("ensure s"), nil)
	})
}

func TestRestartWithManyServicesRecordsNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, append(twenty(), host("a"))...)
		defer func() { l.stop() }()
		l.after(time.Hour)
		l.stop()
		l.change(func() { l.calls, l.events, l.takes = nil, nil, 20*time.Second })
		l.start()
		l.after(time.Hour)
		if len(l.calls) != 20 || len(l.events) > 0 {
			t.Errorf("%d calls and events %v, want one call for each Service and no event", len(l.calls), l.events)
		}
	})
}

func TestRestartWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, balanced(), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.stop()
		patches := l.patches()
		l.change(func() { l.calls, l.events = nil, nil })
		l.start()
		l.after(time.Hour)
		l.expect("restarted", list("ensure s"), nil)
		if got := l.patches(); got != patches {
			t.Errorf("%d patches after a restart, want none", got-patches)
		}
	})
}

// TestEachCrashHeals stops the controller at many moments of a Service's life and
// deletion, and starts the controller again.
func TestEachCrashHeals(t *testing.T) {
	for moment := range 40 {
		synctest.Test(t, func(t *testing.T) {
			l := begin(t, Config{}, balanced(), host("a"))
			defer func() { l.stop() }()
			crash := func() {
				l.after(time.Duration(moment) * 50 * time.Millisecond)
				l.stop()
				l.start()
				l.after(time.Hour)
			}
			crash()
			if len(l.balancers) != 1 || len(l.service().Status.LoadBalancer.Ingress) != 1 {
				t.Errorf("moment %d: %v, %+v", moment, l.balancers, l.service().Status)
			}
			l.update(terminating)
			crash()
			if _, err := l.cluster.CoreV1().Services("ns").Get(t.Context(), "s", metav1.GetOptions{}); err == nil || len(l.balancers) > 0 {
				t.Errorf("moment %d: the Service is still there (%v), or its load balancer: %v", moment, err, l.balancers)
			}
		})
	}
}
