package route

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

func TestRoutesFollowTheNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, Config{}, bare(1))
		defer func() { b.stop() }()
		b.after(3 * time.Second)
		b.expect("the first node", []string{"create 10.244.1.0/24 node-1 uid-1"}, nil, []string{"node-1 False"})

		two := bare(2)
		two.Spec.PodCIDRs = append(two.Spec.PodCIDRs, "fd00:0:0:2::/64")
		b.createNode(two)
		b.after(4 * time.Second)
		b.expect("a node of two families", []string{"create 10.244.2.0/24 node-2 uid-2", "create fd00:0:0:2::/64 node-2 uid-2-ipv6"}, nil, []string{"node-2 False"})

		b.deleteNode("node-1")
		b.after(3 * time.Second)
		b.expect("a node goes", []string{"delete r1"}, nil, nil)

		again := bare(3) // another instance with the name and the CIDR of node-1
		again.Name, again.Spec.PodCIDRs = "node-1", []string{"10.244.1.0/24"}
		b.createNode(again)
		b.after(4 * time.Second)
		b.expect("a node replaced under its name", []string{"create 10.244.1.0/24 node-1 uid-3"}, nil, []string{"node-1 False"})

		b.after(time.Hour)
		b.expect("an idle hour", nil, nil, nil)
		b.stop()
		b.start()
		b.after(time.Hour)
		b.expect("after a restart", nil, nil, nil)
	})
}

// counted returns metrics, and a function that returns the number of passes.
func counted(t *testing.T) (*Metrics, func(outcome, trigger) float64) {
	m, registry := newMetrics(), metrics.NewKubeRegistry()
	registry.MustRegister(m.syncs)
	return m, func(o outcome, by trigger) float64 {
		n, err := testutil.GetCounterMetricValue(m.syncs.WithLabelValues(string(o), string(by)))
		if err != nil {
			t.Error(err)
		}
		return n
	}
}

// The counter says what has triggered a pass.
func TestPassesAreCountedByTrigger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, count := counted(t)
		b := begin(t, Config{Metrics: m}, bare(1))
		defer func() { b.stop() }()
		b.after(time.Minute)
		idle, changed := count(outcomeNoop, triggerPeriodic), count(outcomeChanged, triggerNodeChange)
		b.after(10 * time.Minute)
		if n := count(outcomeNoop, triggerPeriodic) - idle; n < 8 || n > 12 {
			t.Errorf("%v periodic passes in 10 minutes, want one a minute", n)
		}
		b.createNode(bare(2))
		b.after(30 * time.Second)
		if n := count(outcomeChanged, triggerNodeChange) - changed; n != 1 {
			t.Errorf("%v passes after the change of a Node have changed routes, want 1", n)
		}
	})
}

// Failures of many CIDRs end at different times. They do not cost a pass each.
func TestManyFailuresCostTwoPassesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, count := counted(t)
		var nodes []*corev1.Node
		for i := range 100 {
			nodes = append(nodes, bare(1+i))
		}
		b := prepare(t, Config{Metrics: m, Syncs: 100}, nodes...)
		b.locked(func() {
			calls := 0
			b.takes = time.Millisecond
			b.longer = func(call string) time.Duration {
				if call == "list" {
					return 0
				}
				calls++
				return time.Duration(calls%100) * 37 * time.Millisecond
			}
			b.fail = func(call string) error {
				if call == "list" {
					return nil
				}
				return errors.New("no")
			}
		})
		b.start()
		defer func() { b.stop() }()
		b.after(time.Minute)
		passes := 0.0
		for _, o := range []outcome{outcomeNoop, outcomeChanged, outcomeError} {
			for _, by := range []trigger{triggerPeriodic, triggerNodeChange} {
				passes += count(o, by)
			}
		}
		if passes > 120 {
			t.Errorf("%v passes in a minute, want two a second at most", passes)
		}
	})
}

func TestIdleCostsAListingAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, Config{}, newNode(1))
		defer func() { b.stop() }()
		b.after(time.Minute)
		b.locked(func() { b.calls = nil })
		b.after(time.Hour)
		b.locked(func() {
			if n := len(b.calls); n < 54 || n > 67 {
				t.Errorf("%d listings in an hour, want one a minute, give or take a tenth", n)
			}
		})
	})
}

func TestManyNewNodesCostOneCreationEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, Config{Syncs: 20})
		defer func() { b.stop() }()
		b.after(5 * time.Second)
		b.locked(func() { b.calls = nil })
		for i := 1; i <= 100; i++ {
			b.createNode(bare(i))
		}
		b.after(10 * time.Second)
		b.locked(func() {
			if len(b.calls) != 100 || len(b.writes) != 100 {
				t.Errorf("%d calls and %d writes for 100 nodes, want one of each for each", len(b.calls), len(b.writes))
			}
			if b.most > 20 {
				t.Errorf("%d calls at once, want 20 at most", b.most)
			}
		})
	})
}

// After a lost watch, the informer reports a new Node as a change of the old Node with
// the same name.
func TestNodeThatWasReplacedUnseenCountsAsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, Config{}, bare(1), bare(2))
		defer func() { b.stop() }()
		b.after(5 * time.Second)
		again := bare(3)
		again.Name, again.ResourceVersion = "node-1", "8"
		b.locked(func() { b.deleted["10.244.1.0/24"] = true })
		if _, err := b.cluster.CoreV1().Nodes().Update(t.Context(), again, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		b.after(time.Minute)
		if diff := cmp.Diff([]string{"10.244.2.0/24 node-2", "10.244.3.0/24 node-1"}, b.routes()); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
	})
}

// With RemoveDuplicates, a duplicate of a working route is deleted. A blackhole is
// deleted even without RemoveDuplicates. Nothing is created.
func TestDuplicateAndBlackholeBesideTheRouteAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := DefaultLimits()
		limits.RemoveDuplicates = true
		b := begin(t, Config{Limits: limits}, newNode(1))
		defer func() { b.stop() }()
		b.after(5 * time.Second)
		b.expect("creation", []string{"create 10.244.1.0/24 node-1 uid-1"}, nil, nil)
		b.locked(func() {
			b.addRoute("node-1", "10.244.1.0/24").stray = time.Now()
			dead := b.addRoute("node-1", "10.244.1.0/24")
			dead.Blackhole, dead.stray = true, time.Now()
		})
		b.after(3 * time.Minute)
		b.expect("a duplicate and a blackhole", []string{"delete r2", "delete r3"}, nil, nil)
	})
}

// A provider that lists the routes of several tables shows each route several times,
// under different names. Each table needs its own route.
func TestRoutesOfSeveralTablesStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, Config{}, newNode(1))
		b.locked(func() {
			b.tables = 3
			b.addRoute("node-1", "10.244.1.0/24")
		})
		b.start()
		defer func() { b.stop() }()
		b.after(time.Hour)
		b.expect("an hour", nil, nil, nil)
		b.deleteNode("node-1")
		b.after(time.Minute)
		b.expect("the Node goes", []string{"delete r1", "delete r2", "delete r3"}, nil, nil)
	})
}

// A job waits for the one before it. Steps that have become wrong in the
// meantime are left out, and the next pass plans again.
func TestJobThatHasWaited(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(b *bed) // called when node-1 and a route for node-2's CIDR exist; the route leads to node-9
		during func(b *bed)
		want   []string
	}{
		{"NothingHasChanged", func(b *bed) { b.createNode(bare(2)) }, func(*bed) {}, []string{
			"create 10.244.1.0/24 node-1 uid-1", "create 10.244.2.0/24 node-2 uid-2", "delete r1",
		}},
		{"NodeWasDeleted", func(b *bed) { b.createNode(bare(2)) }, func(b *bed) { b.deleteNode("node-2") }, []string{
			"create 10.244.1.0/24 node-1 uid-1", "delete r1",
		}},
		{"TargetClaimsTheCIDR", func(*bed) {}, func(b *bed) {
			nine := bare(9)
			nine.Spec.PodCIDRs = []string{"10.244.2.0/24"}
			b.createNode(nine)
		}, []string{"create 10.244.1.0/24 node-1 uid-1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := prepare(t, Config{Syncs: 1, Limits: Limits{BudgetRoutes: 3}}, bare(1))
				b.locked(func() {
					b.deleted["10.244.2.0/24"] = true // so that checkRemoval allows the removal
					b.addRoute("node-9", "10.244.2.0/24")
				})
				b.takes = 10 * time.Second
				tt.before(b)
				b.start()
				defer func() { b.stop() }()
				for underWay := false; !underWay; b.after(time.Second) {
					b.locked(func() {
						underWay = slices.ContainsFunc(b.calls, func(c string) bool { return strings.HasPrefix(c, "create 10.244.1.0/24") })
					})
				}
				tt.during(b) // While this runs, the other job waits.
				b.after(2 * time.Minute)
				b.locked(func() { b.events, b.writes = nil, nil })
				b.expect("calls", tt.want, nil, nil)
			})
		})
	}
}

func TestHeldRoutesAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, Config{}, newNode(1))
		defer func() { b.stop() }()
		b.locked(func() {
			for i := 101; i <= 110; i++ {
				b.addRoute(fmt.Sprintf("other-%d", i), fmt.Sprintf("10.244.%d.0/24", i)).stray = time.Now()
			}
		})
		b.start()
		b.after(25 * time.Second)
		b.expect("while the routes are new", []string{"create 10.244.1.0/24 node-1 uid-1"}, nil, nil)
		b.after(9 * time.Minute)
		b.expect("over the budget", nil, []string{"RouteDeletionHeld"}, nil)
		b.after(4 * time.Minute)
		if diff := cmp.Diff([]string{"10.244.1.0/24 node-1"}, b.routes()); diff != "" {
			t.Error(diff)
		}
	})
}
