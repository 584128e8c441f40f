package service

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// MaxUpdates implements manyBalancers.
func (l *life) MaxUpdates() int { return l.most }

// UpdateMany implements manyBalancers. No other call about one of the Services may
// be under way.
func (l *life) UpdateMany(ctx context.Context, services []*corev1.Service, nodes []*corev1.Node) []error {
	l.mu.Lock()
	l.calls = append(l.calls, fmt.Sprintf("many %d", len(services)))
	var names []string
	errs := make([]error, len(services))
	for n, service := range services {
		key := service.Namespace + "/" + service.Name
		names = append(names, service.Name)
		if l.busy[key] {
			l.t.Errorf("a shared call overlaps another one about %s", key)
		}
		l.busy[key] = true
		errs[n] = l.fail("update " + service.Name)
	}
	if l.answer != nil {
		errs = l.answer(names, errs)
	}
	takes := l.takes
	l.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, service := range services {
		delete(l.busy, service.Namespace+"/"+service.Name)
		if ctx.Err() != nil {
			errs[n] = ctx.Err()
		}
		if errs[n] == nil {
			l.balancers[service.UID] = nodeSet{nodes: nodes}.names()
		}
	}
	return errs
}

// many returns n Services, and a Node.
func many(n int) []runtime.Object {
	objects := []runtime.Object{host("a")}
	for i := range n {
		objects = append(objects, balanced(named(fmt.Sprintf("s-%03d", i))))
	}
	return objects
}

// takeCalls returns the calls to the cloud since the last call of takeCalls.
func (l *life) takeCalls() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := l.calls
	l.calls, l.events = nil, nil
	return calls
}

func (l *life) expectBackends(n int, nodes ...string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	has := 0
	for _, is := range l.balancers {
		if slices.Equal(is, nodes) {
			has++
		}
	}
	if has != n || len(l.balancers) != n {
		l.t.Errorf("%d of %d load balancers have the nodes %v, want %d", has, len(l.balancers), nodes, n)
	}
}

func TestNodeThatJoinsIsAFewCallsForManyServices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := beginMany(t, 100, Config{Syncs: 10}, many(500)...)
		defer func() { l.stop() }()
		l.after(time.Hour)
		l.takeCalls()
		l.create(host("b"))
		l.after(time.Minute)
		l.expectBackends(500, "a", "b")
		l.mu.Lock()
		events := len(l.events)
		l.mu.Unlock()
		if calls := l.takeCalls(); len(calls) > 10 || events != 500 {
			t.Errorf("calls %v and %d events, want at most 10 calls, and an event for each Service", calls, events)
		}
		l.after(time.Hour)
		if calls := l.takeCalls(); len(calls) > 0 {
			t.Errorf("calls %v, want none while nothing changes", calls)
		}
	})
}

func TestServiceThatIsAloneIsUpdatedAsWithoutTheInterface(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := beginMany(t, 100, Config{}, many(1)...)
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.takeCalls()
		l.create(host("b"))
		l.after(time.Minute)
		l.expect("alone", list("update s-000"), list("s-000 UpdatedLoadBalancer"))
	})
}

// Each load balancer gets its nodes, whatever results a shared call has.
func TestFaultsOfASharedUpdate(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name   string
		answer func(services []string, errs []error) []error
		want   []string // the calls, in any order
	}{
		{"OneFails", func(services []string, errs []error) []error {
			errs[slices.Index(services, "s-001")] = broken
			return errs
		}, list("many 3", "ensure s-001")},
		{"OneIsUnknown", func(services []string, errs []error) []error {
			errs[slices.Index(services, "s-001")] = cloud.ErrAlone
			return errs
		}, list("many 3", "update s-001")},
		{"AllAreUnknown", func(_ []string, errs []error) []error {
			return slices.Repeat([]error{cloud.ErrAlone}, len(errs))
		}, list("many 3", "update s-000", "update s-001", "update s-002")},
		{"AllFail", func(_ []string, errs []error) []error {
			return slices.Repeat([]error{broken}, len(errs))
		}, list("many 3", "ensure s-000", "ensure s-001", "ensure s-002")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := beginMany(t, 100, Config{}, many(3)...)
				defer func() { l.stop() }()
				l.after(time.Minute)
				l.takeCalls()
				l.change(func() { l.answer = tt.answer })
				l.create(host("b"))
				l.after(time.Hour)
				l.expectBackends(3, "a", "b")
				calls := l.takeCalls()
				slices.Sort(calls)
				slices.Sort(tt.want)
				if !slices.Equal(calls, tt.want) {
					t.Errorf("calls %v, want %v", calls, tt.want)
				}
			})
		})
	}
}

// draws returns a function that returns a random number below n. Several goroutines
// may call it.
func draws(seed uint64) func(n int) int {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 19))
	return func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return random.IntN(n)
	}
}

// While Services are edited, Nodes join and the controller restarts, no two calls about
// one Service overlap, and each load balancer has the newest set in the end.
func TestSharedUpdatesNeverOverlapOtherCalls(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			draw := draws(seed)
			l := beginMany(t, 2+draw(10), Config{Syncs: 1 + draw(5)}, many(12)...)
			defer func() { l.stop() }()
			var works atomic.Bool
			l.change(func() {
				l.fail = func(string) error {
					if !works.Load() && draw(6) == 0 {
						return errors.New("broken")
					}
					return nil
				}
				l.answer = func(_ []string, errs []error) []error {
					for n := range errs {
						if !works.Load() && draw(6) == 0 {
							errs[n] = cloud.ErrAlone
						}
					}
					return errs
				}
			})
			nodes := []string{"a"}
			for step := range 25 {
				switch draw(3) {
				case 0:
					name := fmt.Sprintf("n-%02d", step)
					nodes = append(nodes, name)
					l.create(host(name))
				case 1:
					l.edit(l.serviceOf("ns", fmt.Sprintf("s-%03d", draw(12))), func(s *corev1.Service) { s.Spec.Ports[0].Port++ })
				case 2:
					l.change(func() { l.takes = time.Duration(draw(3000)) * time.Millisecond })
				}
				l.after(time.Duration(draw(4000)) * time.Millisecond)
				if draw(10) == 0 {
					l.stop()
					l.change(func() { clear(l.busy) })
					l.start()
				}
			}
			works.Store(true)
			l.after(2 * time.Hour)
			l.expectBackends(12, nodes...)
			l.mu.Lock()
			defer l.mu.Unlock()
			if !slices.ContainsFunc(l.calls, func(call string) bool { return strings.HasPrefix(call, "many") }) {
				t.Logf("seed %d shared no call", seed)
			}
		})
	}
}

// An edit during a shared call reaches the cloud right after that call.
func TestEditDuringASharedUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := beginMany(t, 100, Config{Syncs: 4}, many(3)...)
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.takeCalls()
		l.change(func() { l.takes = 20 * time.Second })
		l.create(host("b"))
		l.after(10 * time.Second)
		l.edit(l.serviceOf("ns", "s-001"), func(s *corev1.Service) { s.Spec.Ports[0].Port++ })
		l.after(5 * time.Second)
		if calls := l.takeCalls(); !slices.Equal(calls, list("many 3")) {
			t.Errorf("calls %v while the shared call is under way", calls)
		}
		l.after(10 * time.Second)
		if calls := l.takeCalls(); !slices.Equal(calls, list("ensure s-001")) {
			t.Errorf("calls %v after the shared call, want the edit", calls)
		}
	})
}

// While a shared call claims a Service that it then leaves out, another worker may begin
// the pass after an edit of this Service. That pass does nothing, so another one has to
// follow.
func TestPassThatIsRefusedWhileACallIsGatheredIsMadeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := beginMany(t, 10, Config{Syncs: 2}, balanced(named("s1")), balanced(named("s2")), host("a"))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() { l.takes = 30 * time.Second })
		l.create(balanced(named("slow")))
		l.after(time.Second) // Now one of the two workers is busy.
		var leader, gathered string
		l.change(func() {
			l.calls, l.takes = nil, time.Second
			l.reads = func(key string) {
				switch name := strings.TrimPrefix(key, "ns/"); {
				case name == "slow" || name == leader || gathered != "":
				case leader == "":
					leader = name
				default:
					gathered = name
					l.edit(l.serviceOf("ns", name), edited)
					time.Sleep(time.Minute) // The other worker is free now, and begins the pass.
				}
			}
		})
		l.create(host("b"))
		l.after(time.Hour)
		if !slices.Contains(l.calls, "ensure "+gathered) {
			t.Errorf("calls %v, want the edit of %q to be ensured", l.calls, gathered)
		}
	})
}
