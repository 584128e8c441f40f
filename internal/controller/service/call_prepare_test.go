package service

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// While a call is under way, the Service that comes next gets its finalizer and shows that
// the provider is about to be called. The others are as they were.
func TestNextServiceIsPrepared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.takes = 20 * time.Second })
		names := []string{"s-000", "s-001", "s-002", "s-003"}
		for _, s := range lots(len(names)) {
			l.create(s)
			synctest.Wait()
		}
		l.create(host("b")) // A change of the set during the call starts nothing.
		l.after(25 * time.Second)
		l.expect("one is done", list("ensure s-000", "ensure s-001"), list("s-000 EnsuringLoadBalancer", "s-000 EnsuredLoadBalancer", "s-001 EnsuringLoadBalancer"))
		for n, name := range names {
			s := l.serviceOf("ns", name)
			if got, want := slices.Contains(s.Finalizers, Finalizer), n < 3; got != want {
				t.Errorf("%s has the finalizer: %v, want %v", name, got, want)
			}
		}
		for name, want := range map[string]*metav1.Condition{"s-002": {Status: metav1.ConditionTrue, Reason: ensuringCause().Reason}, "s-003": nil} {
			got := findCondition(l.serviceOf("ns", name), ConditionProvisioning)
			if (got == nil) != (want == nil) || got != nil && (got.Status != want.Status || got.Reason != want.Reason) {
				t.Errorf("%s shows %+v, want %+v", name, got, want)
			}
		}
		l.after(10 * time.Minute)
		if len(l.balancers) != len(names) {
			t.Errorf("%d load balancers, want %d", len(l.balancers), len(names))
		}
		if condition := findCondition(l.serviceOf("ns", "s-002"), ConditionServing); condition == nil || condition.Status != metav1.ConditionTrue {
			t.Errorf("condition of the last Service %+v", condition)
		}
	})
}

// Of ten Services that wait behind a call, one is prepared. Of those that are deleted
// before their turn, only that one costs a call.
func TestPreparedServicesThatAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.takes = 20 * time.Second })
		// The first call begins alone. What comes during it is prepared by the second call.
		for _, s := range lots(12) {
			l.create(s)
			synctest.Wait()
		}
		l.after(25 * time.Second)
		prepared := 0
		for _, s := range lots(12)[2:] {
			s := l.serviceOf("ns", s.(*corev1.Service).Name)
			if slices.Contains(s.Finalizers, Finalizer) {
				prepared++
				now := metav1.Now()
				l.edit(s, func(s *corev1.Service) { s.DeletionTimestamp = &now })
			} else if err := l.cluster.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("services"), "ns", s.Name); err != nil {
				t.Fatal(err)
			}
		}
		if prepared != 1 {
			t.Errorf("%d Services are prepared, want 1", prepared)
		}
		l.after(10 * time.Minute)
		calls := l.takeCalls()
		slices.Sort(calls)
		if want := list("delete s-002", "ensure s-000", "ensure s-001"); !slices.Equal(calls, want) {
			t.Errorf("calls %q, want %q", calls, want)
		}
		if len(l.balancers) != 2 {
			t.Errorf("%d load balancers, want 2", len(l.balancers))
		}
	})
}

// A preparation that the API server refuses, or that takes as long as several calls,
// keeps no Service from its own pass.
func TestPreparationThatFails(t *testing.T) {
	for name, trouble := range map[string]func(l *life){
		"Refused": func(l *life) { l.refuse = errors.New("refused") },
		"Slow":    func(l *life) { l.patchTakes = 30 * time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			for _, workers := range []int{1, 3} {
				synctest.Test(t, func(t *testing.T) {
					l := begin(t, Config{Syncs: workers}, host("a"))
					defer func() { l.stop() }()
					l.change(func() { l.takes = 2 * time.Second })
					for _, s := range lots(8) {
						l.create(s)
						synctest.Wait()
					}
					l.change(func() { trouble(l) })
					l.after(20 * time.Second)
					l.change(func() { l.refuse, l.patchTakes = nil, 0 })
					l.after(10 * time.Minute)
					if len(l.balancers) != 8 {
						t.Errorf("%d workers: %d load balancers, want 8", workers, len(l.balancers))
					}
					if calls := l.takeCalls(); len(calls) != 8 {
						t.Errorf("%d workers: calls %q, want one for each Service", workers, calls)
					}
				})
			}
		})
	}
}
