package route

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
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

func TestFailedCreation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, Config{}, newNode(2))
		defer func() { b.stop() }()
		b.after(3 * time.Second)
		b.expect("the first", []string{"create 10.244.2.0/24 node-2 uid-2"}, nil, nil)
		quota := errors.New("quota of 1 route is used up")
		b.locked(func() {
			b.fail = func(call string) error {
				if strings.HasPrefix(call, "create 10.244.1.0/24") {
					return quota
				}
				return nil
			}
		})
		b.createNode(bare(1))
		b.createNode(bare(3))
		b.after(3 * time.Minute)
		failed := []string{"node-1 FailedToCreateRoute quota of 1 route is used up"}
		var creations int
		b.locked(func() {
			b.calls = slices.DeleteFunc(b.calls, func(c string) bool {
				isIt := strings.HasPrefix(c, "create 10.244.1.0/24")
				if isIt {
					creations++
				}
				return isIt
			})
		})
		if creations < 6 || creations > 12 {
			t.Errorf("%d attempts in three minutes", creations)
		}
		b.expect("one fails", []string{"create 10.244.3.0/24 node-3 uid-3"}, failed, []string{"node-1 True", "node-3 False"})
		b.locked(func() { b.fail = func(string) error { return nil } })
		b.after(2 * time.Minute)
		b.expect("it heals", []string{"create 10.244.1.0/24 node-1 uid-1"}, nil, []string{"node-1 False"})
	})
}

func TestLostReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := map[string]bool{}
		b := prepare(t, Config{}, bare(1))
		b.locked(func() {
			b.lose = func(call string) bool {
				was := lost[call]
				lost[call] = true
				return !was && call != "list"
			}
		})
		b.start()
		defer func() { b.stop() }()
		b.after(time.Minute)
		// The listing after the failure shows the route.
		b.expect("creation", []string{"create 10.244.1.0/24 node-1 uid-1"}, []string{"node-1 FailedToCreateRoute the reply was lost"}, []string{"node-1 False", "node-1 True"})
		b.deleteNode("node-1")
		b.after(time.Minute)
		b.expect("removal", []string{"delete r1"}, nil, nil)
		if got := b.routes(); got != nil {
			t.Errorf("routes %v are left", got)
		}
	})
}

func TestLateListings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, Config{}, bare(1))
		b.locked(func() { b.lag = 20 * time.Second })
		b.start()
		defer func() { b.stop() }()
		b.after(5 * time.Second)
		b.createNode(bare(2))
		b.after(time.Minute)
		b.expect("creation", []string{"create 10.244.1.0/24 node-1 uid-1", "create 10.244.2.0/24 node-2 uid-2"}, nil, []string{"node-1 False", "node-2 False"})
		b.deleteNode("node-1")
		reused := bare(3)
		reused.Spec.PodCIDRs = []string{"10.244.1.0/24"}
		b.createNode(reused)
		b.after(10 * time.Minute)
		b.expect("CIDR of another node", []string{"create 10.244.1.0/24 node-3 uid-3", "delete r1"}, nil, []string{"node-3 False"})
		if diff := cmp.Diff([]string{"10.244.1.0/24 node-3", "10.244.2.0/24 node-2"}, b.routes()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOutageDuringARollout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, Config{}, newNode(1))
		defer func() { b.stop() }()
		b.after(5 * time.Second)
		b.createNode(newNode(2))
		b.after(5 * time.Second)
		b.locked(func() {
			b.calls, b.writes = nil, nil
			b.fail = func(string) error { return errors.New("down") }
		})
		b.deleteNode("node-1")
		b.createNode(bare(3))
		b.after(10 * time.Minute)
		b.locked(func() {
			if n := len(b.calls); n > 30 {
				t.Errorf("%d calls in ten minutes of an outage", n)
			}
			b.calls = nil
		})
		b.expect("the outage", nil, []string{"node-3 FailedToCreateRoute down"}, []string{"node-3 True"})
		b.locked(func() { b.fail = func(string) error { return nil } })
		b.after(2 * time.Minute)
		b.expect("its end", []string{"create 10.244.3.0/24 node-3 uid-3", "delete r1"}, nil, []string{"node-3 False"})
	})
}

func TestNewLeaderDuringAnOutageWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, Config{}, newNode(1), newNode(2))
		b.locked(func() { b.fail = func(string) error { return errors.New("down") } })
		b.start()
		defer func() { b.stop() }()
		b.after(10 * time.Minute)
		b.locked(func() { b.calls = nil })
		b.expect("the outage", nil, nil, nil)
	})
}

func TestHangingCallDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, Config{}, bare(1))
		defer func() { b.stop() }()
		listed := false
		b.locked(func() {
			b.takes = time.Second
			b.longer = func(call string) time.Duration {
				first := call == "list" && !listed
				listed = listed || first
				switch {
				case first:
					return time.Hour
				case strings.HasPrefix(call, "create 10.244.2.0/24"):
					return 2 * time.Hour
				}
				return 0
			}
		})
		b.start()
		b.after(time.Hour + time.Minute)
		b.createNode(bare(2))
		b.after(2 * time.Second)
		b.createNode(bare(3))
		b.after(5 * time.Minute)
		if diff := cmp.Diff([]string{"10.244.1.0/24 node-1", "10.244.3.0/24 node-3"}, b.routes()); diff != "" {
			t.Error(diff)
		}
		b.locked(func() { b.calls = nil })
		b.expect("a creation hangs", nil, nil, []string{"node-1 False", "node-2 True", "node-3 False"})
		b.after(2 * time.Hour)
		b.locked(func() { b.calls = nil })
		b.expect("it returns", nil, nil, []string{"node-2 False"})
	})
}

// answers is a cloud that lists its routes with these errors, in order, each after
// half a minute.
type answers struct {
	routes

	next []error
}

// List implements routes.
func (a *answers) List(context.Context) ([]cloud.Route, error) {
	time.Sleep(30 * time.Second)
	err := a.next[0]
	a.next = a.next[1:]
	return nil, err
}

// If a caller has given up a call, the gateway gives its answer to the next
// caller. That answer may show the routes as they were when the first call
// began.
func TestLateAnswerIsAsOldAsItsCall(t *testing.T) {
	late := func(kind cloud.Kind) error {
		return &cloud.Error{Call: "ListRoutes", Kind: kind, Err: errors.New("no answer")}
	}
	for _, tt := range []struct {
		name    string
		answers []error
		want    time.Duration // age of the listing
	}{
		{"AtOnce", []error{nil}, 30 * time.Second},
		{"Late", []error{late(cloud.Slow), late(cloud.Throttled), nil}, 90 * time.Second},
		{"AfterAFailure", []error{late(cloud.Slow), late(cloud.Unavailable), nil}, 30 * time.Second},
		{"AfterALateOne", []error{late(cloud.Slow), nil, nil}, 30 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := idle(t)
				defer func() {
					over, cancel := context.WithCancel(t.Context())
					cancel()
					_ = c.Run(over) // ends the queues that New has started
				}()
				c.routes = &answers{next: tt.answers}
				for range tt.answers {
					c.list(t.Context(), "test")
				}
				if got := time.Since(c.memory.listing.at); got != tt.want || !c.memory.listing.answered.Equal(time.Now()) {
					t.Errorf("the listing is %v old and was answered at %v, want %v and now", got, c.memory.listing.answered, tt.want)
				}
			})
		})
	}
}

// An informer that has lost its watch shows a Node that was replaced as a change.
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

// A condition that could not be written is dropped when it has become wrong.
func TestRefusedPatchIsDroppedWhenItIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, Config{}, newNode(1)) // The Node shows that it is reachable.
		b.locked(func() {
			b.refuse = errors.New("unavailable")
			b.fail = func(call string) error {
				if strings.HasPrefix(call, "create") {
					return errors.New("no")
				}
				return nil
			}
		})
		b.start()
		defer func() { b.stop() }()
		b.after(5 * time.Minute)
		b.locked(func() { b.fail = func(string) error { return nil } })
		for healed := false; !healed; healed = len(b.routes()) == 1 {
			b.after(time.Second)
		}
		b.after(2 * time.Second)
		b.locked(func() { b.refuse, b.writes, b.calls, b.events = nil, nil, nil, nil })
		b.after(10 * time.Minute)
		b.expect("once it is reachable again", nil, nil, nil)
	})
}

// If asked for, a duplicate beside a working route is deleted. A blackhole is
// always deleted. Nothing is created.
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

// A provider that lists the routes of several tables shows each of them several
// times, under other names. Each table needs its own.
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
		before func(b *bed) // beside node-1, with a route to node-9 on the CIDR of node-2
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
					b.deleted["10.244.2.0/24"] = true // so that checkRemoval allows it
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

func TestStoppedInstanceCostsFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := begin(t, Config{}, newNode(1), newNode(2))
		defer func() { b.stop() }()
		b.after(5 * time.Second)
		b.expect("creation", []string{"create 10.244.1.0/24 node-1 uid-1", "create 10.244.2.0/24 node-2 uid-2"}, nil, nil)
		b.locked(func() {
			b.stopped = "node-1"
			for _, e := range b.table {
				if e.Node == "node-1" {
					e.Blackhole, e.stray = true, time.Now()
				}
			}
		})
		b.after(time.Hour)
		b.locked(func() {
			changes := slices.DeleteFunc(slices.Clone(b.calls), func(c string) bool { return c == "list" })
			if len(changes) > 50 {
				t.Errorf("%d changes in an hour for one stopped instance", len(changes))
			}
			if diff := cmp.Diff([]string{"node-1 True"}, b.writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			b.calls, b.writes, b.stopped = nil, nil, ""
			for _, e := range b.table {
				e.Blackhole, e.stray = false, time.Time{}
			}
		})
		b.after(7 * time.Minute)
		b.locked(func() { b.calls = nil })
		b.expect("the instance runs again", nil, nil, []string{"node-1 False"})
	})
}

// Passes continue while the API server is slow.
func TestSlowPatchIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, Config{}, bare(1), bare(2))
		b.writing = 10 * time.Second
		b.fail = func(call string) error {
			if strings.HasPrefix(call, "create 10.244.1.0/24") {
				return errors.New("no")
			}
			return nil
		}
		b.start()
		defer func() { b.stop() }()
		b.after(2 * time.Minute)
		b.locked(func() { b.calls, b.events = nil, nil })
		b.expect("one condition each", nil, nil, []string{"node-1 True", "node-2 False"})
	})
}

func TestRefusedPatchIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, Config{}, bare(1))
		b.locked(func() { b.refuse = errors.New("unavailable") })
		b.start()
		defer func() { b.stop() }()
		b.after(10 * time.Second)
		b.locked(func() { b.refuse, b.writes, b.calls = nil, nil, nil })
		b.after(10 * time.Minute)
		b.expect("once it may", nil, nil, []string{"node-1 False"})
	})
}

// TestRandomLives creates, deletes and replaces Nodes while the cloud fails in many
// ways, and compares the table with the Nodes at the end. checkRemoval checks each
// removal on the way.
func TestRandomLives(t *testing.T) {
	lives := 60
	if testing.Short() {
		lives = 10
	}
	for seed := range lives {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomSteps(t, uint64(seed)) }) //nolint:gosec // it is not negative
		})
	}
}

func randomSteps(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(1, seed))    //nolint:gosec // the test has to be repeatable
	luck := rand.New(rand.NewPCG(2, seed)) //nolint:gosec // the cloud's own, guarded by mu: its calls are concurrent
	b := prepare(t, Config{Limits: Limits{StrayFor: 30 * time.Second, BudgetRoutes: 100, OverBudgetAfter: time.Hour}})
	foreign := []string{"10.9.0.0/24 gone", "10.244.0.0/15 gone", "10.244.250.0/24 ", "nonsense gone"}
	b.locked(func() {
		b.tables = 1 + r.IntN(2)
		for _, f := range foreign {
			cidr, node, _ := strings.Cut(f, " ")
			b.addRoute(node, cidr)
		}
		for i := range 3 {
			for range b.tables {
				b.addEntry("gone", fmt.Sprintf("10.244.%d.0/24", 200+i)).stray = time.Now()
			}
		}
		b.lag = time.Duration(r.IntN(20)) * time.Second
		b.fail = func(string) error {
			if luck.IntN(5) == 0 {
				return errors.New("no")
			}
			return nil
		}
		b.lose = func(call string) bool { return call != "list" && luck.IntN(10) == 0 }
	})
	b.start()
	there := map[int]*corev1.Node{}
	for step := range 40 {
		i := 1 + r.IntN(8)
		switch n := there[i]; {
		case n == nil:
			n = bare(i)
			n.UID = types.UID(fmt.Sprintf("uid-%d-%d", i, step))
			if r.IntN(3) == 0 { // with a CIDR that another Node may have had
				n.Spec.PodCIDRs = []string{fmt.Sprintf("10.244.%d.0/24", 1+r.IntN(8))}
			}
			if slices.ContainsFunc(b.nodes(), func(o corev1.Node) bool { return slices.Equal(o.Spec.PodCIDRs, n.Spec.PodCIDRs) }) {
				continue
			}
			there[i] = n
			b.createNode(n)
		case r.IntN(2) == 0:
			delete(there, i)
			b.deleteNode(n.Name)
		}
		if r.IntN(10) == 0 {
			b.stop()
			b.start()
		}
		b.after(time.Duration(r.IntN(8000)) * time.Millisecond)
	}
	b.locked(func() {
		b.fail, b.lose = func(string) error { return nil }, func(string) bool { return false }
		// A new leader does not know which deletions the last one saw.
		for _, e := range b.table {
			if e.stray.IsZero() {
				e.stray = time.Now()
			}
		}
	})
	b.after(10 * time.Minute)
	defer b.stop()
	want := slices.Clone(foreign)
	names := map[string]bool{}
	for _, n := range there {
		want = append(want, n.Spec.PodCIDRs[0]+" "+n.Name)
		names[n.Name] = true
	}
	got := slices.DeleteFunc(b.routes(), func(route string) bool {
		// A Node of that name may keep the route of an earlier one whose deletion was not
		// seen.
		_, node, _ := strings.Cut(route, " ")
		return names[node] && !slices.Contains(want, route)
	})
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	b.locked(func() { b.calls, b.events, b.writes = nil, nil, nil })
	b.after(10 * time.Minute)
	b.expect("at the end", nil, nil, nil)
}
