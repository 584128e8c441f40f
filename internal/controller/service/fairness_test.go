package service

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// of returns an edit that puts a Service into a namespace.
func of(namespace string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Namespace = namespace }
}

// annotatedNow gives a Service a shape that the Service has never had.
func annotatedNow(s *corev1.Service) {
	s.Annotations = map[string]string{"edited": time.Now().String()}
}

func portFlipped(s *corev1.Service) { s.Spec.Ports[0].Port ^= 1 }

// flipped changes the type of a Service.
func flipped(s *corev1.Service) {
	if s.Spec.Type == corev1.ServiceTypeLoadBalancer {
		internal(s)
		return
	}
	s.Spec.Type = corev1.ServiceTypeLoadBalancer
}

// tenants says how many Services the attackers and the victims have, and how long a
// call takes. Whenever a call about an attacker's Service ends, the Service is edited
// again.
type tenants struct {
	workers, attackers, victims int
	takes                       time.Duration // of each call
	edit                        func(*corev1.Service)
}

func (c tenants) String() string {
	return fmt.Sprintf("%d workers, %d Services that are edited and %d that are not, calls of %v", c.workers, c.attackers, c.victims, c.takes)
}

func (c tenants) services() (objects []runtime.Object) {
	for n := range c.attackers {
		objects = append(objects, balanced(named(fmt.Sprint("attacker-", n)), of(fmt.Sprint("attackers-", n%3))))
	}
	for n := range c.victims {
		objects = append(objects, balanced(named(fmt.Sprint("victim-", n)), of("victims")))
	}
	return objects
}

// attack edits the Services of the attackers until the end of the test.
func (c tenants) attack(l *life) {
	isAttacker := func(s *corev1.Service) bool { return strings.HasPrefix(s.Name, "attacker") }
	l.change(func() {
		l.ended = func(s *corev1.Service) {
			if isAttacker(s) {
				l.edit(l.serviceOf(s.Namespace, s.Name), c.edit)
			}
		}
	})
	for n := range c.attackers {
		l.edit(l.serviceOf(fmt.Sprint("attackers-", n%3), fmt.Sprint("attacker-", n)), c.edit)
	}
}

// callsUntil waits until the condition is true. It returns the number of calls that
// have begun by then, and the time that has passed.
func (l *life) callsUntil(limit time.Duration, holds func() bool) (calls int, in time.Duration) {
	l.t.Helper()
	began := time.Now()
	l.change(func() { l.calls = nil })
	for time.Since(began) < limit {
		l.after(time.Second)
		l.mu.Lock()
		done := holds()
		calls = len(l.calls)
		l.mu.Unlock()
		if done {
			return calls, time.Since(began)
		}
	}
	l.t.Errorf("not within %v and %d calls", limit, calls)
	return calls, limit
}

// updateWithin returns the time within which each load balancer gets the newest set,
// whatever other tenants do with their Services. It is the bound in
// docs/guides/services.md, with one second more for each call.
func (c tenants) updateWithin() time.Duration {
	n := c.attackers + c.victims
	return maxPause + time.Duration(3*n/c.workers+3)*(c.takes+time.Second)
}

// While the Services of some tenants are edited all the time, an update of backends
// still reaches every load balancer, and a new Service still gets its load balancer
// (promise S3).
func TestTenantsDoNotStopOneAnother(t *testing.T) {
	edits := map[string]func(*corev1.Service){"Annotation": annotatedNow, "Type": flipped}
	for name, edit := range edits {
		for seed := range uint64(3) {
			random := rand.New(rand.NewPCG(seed, 0))
			c := tenants{
				workers: 1 + random.IntN(5), attackers: 1 + random.IntN(12), victims: 1 + random.IntN(4),
				takes: time.Duration(1+random.IntN(30)) * time.Second, edit: edit,
			}
			t.Run(name+strconv.FormatUint(seed, 10), func(t *testing.T) { c.run(t) })
		}
	}
}

func (c tenants) run(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{Syncs: c.workers}, append(c.services(), host("a"))...)
		l.change(func() { l.takes = c.takes })
		defer func() { l.stop() }()
		l.after(time.Hour)
		c.attack(l)
		l.after(10 * time.Minute)

		l.create(host("b"))
		calls, in := l.callsUntil(c.updateWithin(), func() bool {
			for n := range c.victims {
				if len(l.balancers[types.UID(fmt.Sprint("u-victim-", n))]) != 2 {
					return false
				}
			}
			return true
		})
		if bound := 3*(c.attackers+c.victims) + 3*c.workers; calls > bound {
			t.Errorf("%v: an update has reached all after %d calls, want %d at most", c, calls, bound)
		}
		t.Logf("%v: update after %d calls, %v", c, calls, in)

		l.create(balanced(named("new"), of("victims")))
		calls, in = l.callsUntil(c.updateWithin(), func() bool { return len(l.balancers["u-new"]) > 0 })
		if bound := 3 * (3 + 2*c.workers); calls > bound {
			t.Errorf("%v: a new Service has its load balancer after %d calls, want %d at most", c, calls, bound)
		}
		t.Logf("%v: new Service after %d calls, %v", c, calls, in)
	})
}

// The number of calls for a Service is bounded, however often the Service is edited,
// and whether the calls succeed or fail (promise P2 a).
func TestCallsForAnEditedServiceAreBounded(t *testing.T) {
	for _, tt := range []struct {
		name string
		edit func(*corev1.Service)
		fail error
		most int // calls in ten minutes
	}{
		{"Annotation", annotatedNow, nil, 11},
		{"AnnotationOfAServiceThatFails", annotatedNow, errors.New("no"), 12},
		{"TwoPorts", portFlipped, nil, 11},
		{"TwoPortsOfAServiceThatFails", portFlipped, errors.New("no"), 15},
		{"Type", flipped, nil, 22}, // each load balancer is also deleted
		{"FinalizerOfAnotherType", func(s *corev1.Service) { internal(s); finalized(s) }, nil, 12},
		{"TypeAndFinalizer", func(s *corev1.Service) { flipped(s); finalized(s) }, nil, 24},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := begin(t, Config{}, balanced(), host("a"))
				l.change(func() { l.takes, l.fail = 10*time.Millisecond, func(string) error { return tt.fail } })
				defer func() { l.stop() }()
				l.after(time.Hour)
				l.change(func() { l.calls, l.events = nil, nil })
				patches := l.patches()
				for range 300 {
					l.update(tt.edit)
					l.after(2 * time.Second)
				}
				if got := len(l.calls); got > tt.most || got < 5 {
					t.Errorf("%d calls in ten minutes with an edit every other second, want %d at most", got, tt.most)
				}
				if got := len(slices.DeleteFunc(l.events, func(e string) bool {
					return strings.HasSuffix(e, "ingLoadBalancer") || strings.HasSuffix(e, "edLoadBalancer")
				})); got > 3 {
					t.Errorf("%d events beside those of the calls: %v", got, l.events)
				}
				t.Logf("%d calls and %d patches in ten minutes", len(l.calls), l.patches()-patches)
				if c := findCondition(l.service(), ConditionProvisioning); tt.name == "Annotation" && (c == nil || c.Reason != "EditedOften") {
					t.Errorf("condition %+v, want it to say why the edits wait", c)
				}
				l.change(func() { l.fail = func(string) error { return nil } })
				l.update(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer; annotatedNow(s) })
				l.after(10 * time.Minute)
				if c := findCondition(l.service(), ConditionProvisioning); c == nil || c.Reason != "Provisioned" {
					t.Errorf("condition %+v, want the last edit to reach the cloud", c)
				}
			})
		})
	}
}

// Edits by a person reach the cloud at once, even while calls for the Service fail.
// The first version and the deletion of a Service also reach the cloud at once.
func TestEditsByAPersonDoNotWait(t *testing.T) {
	for _, fail := range []error{nil, errors.New("no")} {
		synctest.Test(t, func(t *testing.T) {
			l := begin(t, Config{}, host("a"))
			l.change(func() { l.takes, l.fail = 10*time.Millisecond, func(string) error { return fail } })
			defer func() { l.stop() }()
			callsNow := func(what, call string) {
				t.Helper()
				l.after(100 * time.Millisecond)
				var calls []string
				l.change(func() { calls = slices.Clone(l.calls) })
				if !slices.Contains(calls, call) {
					t.Errorf("%s: calls %v, want %s at once", what, calls, call)
				}
			}
			l.create(balanced())
			callsNow("new", "ensure s")
			for n := range 10 {
				l.change(func() { l.calls = nil })
				l.update(annotatedNow)
				callsNow(fmt.Sprint("edit ", n), "ensure s")
				l.after(time.Duration(n+1) * 20 * time.Second)
			}
			for range 10 {
				l.update(annotatedNow)
				l.after(100 * time.Millisecond)
			}
			l.change(func() { l.calls = nil })
			l.update(func(s *corev1.Service) { s.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
			callsNow("deleted", "delete s")
		})
	}
}

// A kubelet that keeps setting and removing the label that excludes its Node causes a
// bounded number of calls. In the end, the set of backends agrees with the last state
// of the label (promise P2 b).
func TestUpdatesForANodeThatMovesAllTheTimeAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, append(twenty(), host("a"), host("b"))...)
		l.change(func() { l.takes = 10 * time.Millisecond })
		defer func() { l.stop() }()
		l.after(time.Hour)
		l.change(func() { l.calls = nil })
		for n := range 301 {
			b := host("b", func(node *corev1.Node) { node.ResourceVersion = strconv.Itoa(5000 + n) })
			if n%2 == 0 {
				labelled("")(b)
			}
			if _, err := l.cluster.CoreV1().Nodes().Update(t.Context(), b, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			l.after(2 * time.Second)
		}
		if got, most := len(l.calls), 12*20; got > most || got < 5*20 {
			t.Errorf("%d calls in ten minutes, want %d at most", got, most)
		}
		t.Logf("%d calls in ten minutes", len(l.calls))
		l.after(3 * time.Minute)
		if got := l.balancers["u-old-00"]; !slices.Equal(got, list("a")) {
			t.Errorf("nodes %v, want those without the excluded one", got)
		}
	})
}
