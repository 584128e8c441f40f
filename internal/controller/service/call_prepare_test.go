package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// After a short call, the Service that comes next is prepared during the following call:
// it gets its finalizer, and shows that the provider is about to be called. The other
// Services do not change. After a long call, no Service is prepared.
func TestNextServiceIsPrepared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.takes = shortCall / 2 })
		names := []string{"s-000", "s-001", "s-002", "s-003"}
		for _, s := range lots(len(names)) {
			l.create(s)
			synctest.Wait()
		}
		l.after(shortCall / 4)
		l.change(func() { l.takes = 20 * time.Second })
		l.create(host("b")) // A change of the set during the call starts nothing.
		l.after(10 * time.Second)
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
		l.after(15 * time.Second)
		l.expect("two are done", list("ensure s-002"), list("s-001 EnsuredLoadBalancer", "s-002 EnsuringLoadBalancer"))
		if s := l.serviceOf("ns", "s-003"); len(s.Finalizers)+len(s.Status.Conditions) > 0 {
			t.Errorf("after a long call the next Service is prepared: %v, %+v", s.Finalizers, s.Status.Conditions)
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

// Of the Services that wait behind a call, only one is prepared. If all of them are
// deleted before their turn, only the deletion of the prepared Service costs a call.
func TestPreparedServicesThatAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.takes = shortCall / 2 })
		// When the first call begins, no other Service waits. So no Service is prepared
		// before the second call.
		for _, s := range lots(12) {
			l.create(s)
			synctest.Wait()
		}
		l.after(shortCall / 4)
		l.change(func() { l.takes = 20 * time.Second })
		l.after(10 * time.Second)
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

// Each Service gets its own pass, even if the API server refuses a preparation, or if a
// preparation takes as long as several calls.
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
					l.change(func() { l.takes = shortCall / 2 })
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

// If a worker takes a Service during the Service's preparation, the worker waits for
// the end of the preparation. So the Service keeps its place in the queue.
func TestPreparationKeepsTheOrder(t *testing.T) {
	for _, workers := range []int{1, 3, 10} {
		synctest.Test(t, func(t *testing.T) {
			l := begin(t, Config{Syncs: workers}, host("a"))
			defer func() { l.stop() }()
			l.change(func() { l.takes, l.patchTakes = 70*time.Millisecond, 20*time.Millisecond })
			const n = 90
			for _, s := range lots(n) {
				l.create(s)
				synctest.Wait()
			}
			l.after(10 * time.Minute)
			calls := l.takeCalls()
			if len(calls) != n {
				t.Fatalf("%d workers: %d calls, want %d", workers, len(calls), n)
			}
			for at, call := range calls {
				var number int
				if _, err := fmt.Sscanf(call, "ensure s-%d", &number); err != nil {
					t.Fatal(err)
				}
				if at-number > 2*workers {
					t.Errorf("%d workers: %s is call %d", workers, call, at)
				}
			}
		})
	}
}

// If the writes to the next Service are slow, they do not delay the address of the
// Service before it.
func TestSlowPreparationDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.takes, l.slow = shortCall/2, "s-002" })
		for _, s := range lots(3) {
			l.create(s)
			synctest.Wait()
		}
		l.after(3 * time.Second)
		if s := l.serviceOf("ns", "s-001"); len(s.Status.LoadBalancer.Ingress) == 0 {
			t.Error("the Service has no address yet, a second after its call")
		}
		l.after(10 * time.Minute)
		if len(l.balancers) != 3 {
			t.Errorf("%d load balancers, want 3", len(l.balancers))
		}
	})
}

// The owner of a Service is told once that the Service waits for a worker, even if
// the Service is prepared meanwhile.
func TestPreparedServiceIsToldOnceThatItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, host("a"))
		defer func() { l.stop() }()
		l.change(func() { l.takes = 100 * time.Second })
		for _, s := range lots(4) {
			l.create(s)
			synctest.Wait()
		}
		l.after(99 * time.Second)
		l.change(func() { l.takes = shortCall / 2 })
		l.after(time.Second + shortCall/4)
		l.change(func() { l.takes = 5 * time.Minute }) // the duration of the call for s-002, during which s-003 is prepared
		l.after(30 * time.Minute)
		l.mu.Lock()
		defer l.mu.Unlock()
		told := map[string]int{}
		for _, event := range l.events {
			if name, reason, _ := strings.Cut(event, " "); reason == reasonQueued.Name {
				told[name]++
			}
		}
		for _, name := range []string{"s-001", "s-002", "s-003"} {
			if told[name] != 1 {
				t.Errorf("%s was told %d times that it waits, want once: %v", name, told[name], l.events)
			}
		}
	})
}
