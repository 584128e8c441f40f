package route

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// life is a cluster, a cloud's route table and a controller between them, in a
// bubble with a time of its own.
type life struct {
	t       *testing.T
	cluster *fake.Clientset
	config  Config
	stop    func()

	mu      sync.Mutex
	table   []*entryOfTable
	serial  int                             // of the next route's name; guarded by mu
	busy    map[string]bool                 // CIDRs of calls under way; guarded by mu
	most    int                             // calls under way at once, ever; guarded by mu
	calls   []string                        // guarded by mu
	events  []string                        // guarded by mu
	writes  []string                        // guarded by mu
	takes   time.Duration                   // guarded by mu
	lag     time.Duration                   // until a change is listed; guarded by mu
	longer  func(call string) time.Duration // beyond what a call takes
	fail    func(call string) error
	lose    func(call string) bool // the change is made, the reply is lost
	writing time.Duration          // how long a write to the API server takes
	refuse  error                  // of writes to the API server; guarded by mu
	deleted map[string]bool        // CIDRs of Nodes that were deleted; guarded by mu
	stopped string                 // the node whose instance is; guarded by mu
}

// entryOfTable is a route with its history.
type entryOfTable struct {
	cloud.Route
	made, gone time.Time // gone: zero while it is there
	stray      time.Time // since when no Node wants it
}

// prepare makes a life that has not begun.
func prepare(t *testing.T, cfg Config, nodes ...*corev1.Node) *life {
	t.Helper()
	cfg.Clusters = []netip.Prefix{pods, pods6}
	if cfg.Limits == (Limits{}) {
		cfg.Limits = DefaultLimits()
	}
	if cfg.Syncs == 0 {
		cfg.Syncs = 10
	}
	var objects []runtime.Object
	for _, n := range nodes {
		n.ResourceVersion = "7"
		objects = append(objects, n)
	}
	l := &life{
		t: t, cluster: fake.NewClientset(objects...), config: cfg, busy: map[string]bool{}, takes: 100 * time.Millisecond,
		longer: func(string) time.Duration { return 0 }, fail: func(string) error { return nil }, lose: func(string) bool { return false }, deleted: map[string]bool{},
	}
	l.cluster.PrependReactor("patch", "nodes", l.onPatch)
	return l
}

func begin(t *testing.T, cfg Config, nodes ...*corev1.Node) *life {
	t.Helper()
	l := prepare(t, cfg, nodes...)
	l.start()
	return l
}

func (l *life) onPatch(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchAction)
	l.mu.Lock()
	defer l.mu.Unlock()
	if action.GetSubresource() != "status" {
		l.t.Errorf("a patch of %q, want all to go to the status", action.GetSubresource())
	}
	status := "True"
	if strings.Contains(string(patch.GetPatch()), `"status":"False"`) {
		status = "False"
	}
	l.writes = append(l.writes, patch.GetName()+" "+status)
	return l.refuse != nil, nil, l.refuse
}

func (l *life) start() {
	ctx, cancel := context.WithCancel(l.t.Context())
	informers := kube.NewInformerFactory(l.cluster, 0)
	informer := informers.Core().V1().Nodes()
	c := New(Deps{Nodes: slowly{kube.NewNodes(ctx, l.cluster, informer), l.writing}, Informer: informer, Routes: l, Events: l}, l.config)
	informers.StartWithContext(ctx)
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	l.stop = func() {
		cancel()
		if err := <-done; err != nil {
			l.t.Errorf("Run: %v", err)
		}
		informers.Shutdown()
	}
	synctest.Wait()
}

// slowly takes its time before each write.
type slowly struct {
	nodes

	takes time.Duration
}

// PatchStatus is the API server.
func (s slowly) PatchStatus(ctx context.Context, name string, p kube.NodeStatusPatch) (*corev1.Node, error) {
	time.Sleep(s.takes)
	return s.nodes.PatchStatus(ctx, name, p)
}

// Node records events.
func (l *life) Node(node *corev1.Node, _, reason, message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, node.Name+" "+reason+" "+message[strings.LastIndex(message, ": ")+2:])
}

// Lease records events.
func (l *life) Lease(_ types.NamespacedName, _, reason, _ string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, reason)
}

// call is one call to the cloud.
func (l *life) call(ctx context.Context, call, cidr string, change func()) error {
	l.mu.Lock()
	l.calls = append(l.calls, call)
	if cidr != "" && l.busy[cidr] {
		l.t.Errorf("%s overlaps another call for this CIDR", call)
	}
	l.busy[cidr] = true
	l.most = max(l.most, len(l.busy))
	takes, err, lost := l.takes+l.longer(call), l.fail(call), l.lose(call)
	l.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.busy, cidr)
	if err == nil || lost {
		change()
	}
	if lost {
		err = errors.New("the reply was lost")
	}
	return err
}

// List is the cloud.
func (l *life) List(ctx context.Context) ([]cloud.Route, error) {
	var listed []cloud.Route
	err := l.call(ctx, "list", "", func() {
		now := time.Now()
		for _, e := range l.table {
			seen := !e.made.Add(l.lag).After(now)
			if seen && (e.gone.IsZero() || e.gone.Add(l.lag).After(now)) {
				listed = append(listed, e.Route)
			}
		}
	})
	return listed, err
}

// Create is the cloud. What is there already is not made twice.
func (l *life) Create(ctx context.Context, hint string, r cloud.Route) error {
	return l.call(ctx, "create "+r.CIDR+" "+r.Node+" "+hint, r.CIDR, func() {
		for _, e := range l.table {
			if e.gone.IsZero() && e.CIDR == r.CIDR && e.Node == r.Node {
				return
			}
		}
		l.plant(r.Node, r.CIDR)
	})
}

// Delete is the cloud.
func (l *life) Delete(ctx context.Context, r cloud.Route) error {
	return l.call(ctx, "delete "+r.Name, r.CIDR, func() { //nolint:contextcheck // the look at the cluster is the test's own
		for _, e := range l.table {
			if e.gone.IsZero() && e.Name == r.Name {
				l.mayGo(e)
				e.gone = time.Now()
			}
		}
	})
}

// mayGo is S5, said once more by somebody who does not know the rules' code. It
// needs mu.
func (l *life) mayGo(e *entryOfTable) {
	cidr, err := netip.ParsePrefix(e.CIDR)
	if err != nil || e.Node == "" && !e.Blackhole || !pods.Overlaps(cidr) && !pods6.Overlaps(cidr) || cidr.Bits() <= pods.Bits() {
		l.t.Errorf("S5: %+v was removed, which is foreign", e.Route)
	}
	for _, n := range l.nodes() {
		if slices.Contains(n.Spec.PodCIDRs, e.CIDR) && n.Name != e.Node {
			return // a
		}
	}
	if l.deleted[e.CIDR] {
		return // b
	}
	if e.stray.IsZero() || time.Since(e.stray) < DefaultLimits().StrayFor {
		l.t.Errorf("S5: %+v was removed after being stray since %v, at %v", e.Route, e.stray, time.Now())
	}
}

// plant puts a route into the table. It needs mu.
func (l *life) plant(node, cidr string) *entryOfTable {
	l.serial++
	e := &entryOfTable{Route: cloud.Route{Name: "r" + strconv.Itoa(l.serial), Node: node, CIDR: cidr}, made: time.Now()}
	if node == l.stopped && node != "" {
		e.Blackhole, e.stray = true, time.Now()
	}
	l.table = append(l.table, e)
	return e
}

func (l *life) nodes() []corev1.Node {
	list, err := l.cluster.CoreV1().Nodes().List(l.t.Context(), metav1.ListOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return list.Items
}

// routes are those that are there, as CIDR and Node.
func (l *life) routes() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var there []string
	for _, e := range l.table {
		if e.gone.IsZero() {
			there = append(there, e.CIDR+" "+e.Node)
		}
	}
	slices.Sort(there)
	return there
}

func (l *life) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

func (l *life) join(n *corev1.Node) {
	l.t.Helper()
	n.ResourceVersion = "7"
	if _, err := l.cluster.CoreV1().Nodes().Create(l.t.Context(), n, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

func (l *life) leave(name string) {
	l.t.Helper()
	n, err := l.cluster.CoreV1().Nodes().Get(l.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	l.change(func() {
		for _, cidr := range n.Spec.PodCIDRs {
			l.deleted[cidr] = true
		}
	})
	if err := l.cluster.CoreV1().Nodes().Delete(l.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

func (*life) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// expect compares what has happened since the last time, listings aside.
func (l *life) expect(what string, calls, events, writes []string) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = slices.DeleteFunc(l.calls, func(c string) bool { return c == "list" })
	for _, c := range []struct {
		kind      string
		got, want []string
	}{{"calls", l.calls, calls}, {"events", l.events, events}, {"writes", l.writes, writes}} {
		slices.Sort(c.got)
		if diff := cmp.Diff(c.want, c.got, cmp.Transformer("empty", func(s []string) string { return strings.Join(s, "\n") })); diff != "" {
			l.t.Errorf("%s: %s (-want +got):\n%s", what, c.kind, diff)
		}
	}
	l.calls, l.events, l.writes = nil, nil, nil
}

// bare is a Node that nobody has judged yet.
func bare(i int) *corev1.Node {
	n := newNode(i)
	noCondition(n)
	return n
}

func TestLifeOfRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, bare(1))
		defer func() { l.stop() }()
		l.after(3 * time.Second)
		l.expect("the first node", []string{"create 10.244.1.0/24 node-1 uid-1"}, nil, []string{"node-1 False"})

		two := bare(2)
		two.Spec.PodCIDRs = append(two.Spec.PodCIDRs, "fd00:0:0:2::/64")
		l.join(two)
		l.after(4 * time.Second)
		l.expect("a node of two families", []string{"create 10.244.2.0/24 node-2 uid-2", "create fd00:0:0:2::/64 node-2 uid-2-ipv6"}, nil, []string{"node-2 False"})

		l.leave("node-1")
		l.after(3 * time.Second)
		l.expect("a node goes", []string{"delete r1"}, nil, nil)

		again := bare(3) // another machine under the name, with the CIDR of the first
		again.Name, again.Spec.PodCIDRs = "node-1", []string{"10.244.1.0/24"}
		l.join(again)
		l.after(4 * time.Second)
		l.expect("a node replaced under its name", []string{"create 10.244.1.0/24 node-1 uid-3"}, nil, []string{"node-1 False"})

		l.after(time.Hour)
		l.expect("an idle hour", nil, nil, nil)
		l.stop()
		l.start()
		l.after(time.Hour)
		l.expect("after a restart", nil, nil, nil)
	})
}

func TestIdleCostsAListingAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, newNode(1))
		defer func() { l.stop() }()
		l.after(time.Minute)
		l.change(func() { l.calls = nil })
		l.after(time.Hour)
		l.change(func() {
			if n := len(l.calls); n < 54 || n > 67 {
				t.Errorf("%d listings in an hour, want one a minute, give or take a tenth", n)
			}
		})
	})
}

func TestManyNodesThatJoinCostOneCreationEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{Syncs: 20})
		defer func() { l.stop() }()
		l.after(5 * time.Second)
		l.change(func() { l.calls = nil })
		for i := 1; i <= 100; i++ {
			l.join(bare(i))
		}
		l.after(10 * time.Second)
		l.change(func() {
			if len(l.calls) != 100 || len(l.writes) != 100 {
				t.Errorf("%d calls and %d writes for 100 nodes, want one of each for each", len(l.calls), len(l.writes))
			}
			if l.most > 20 {
				t.Errorf("%d calls at once, want 20 at most", l.most)
			}
		})
	})
}

func TestFailedCreation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, newNode(2))
		defer func() { l.stop() }()
		l.after(3 * time.Second)
		l.expect("the first", []string{"create 10.244.2.0/24 node-2 uid-2"}, nil, nil)
		quota := errors.New("quota of 1 route is used up")
		l.change(func() {
			l.fail = func(call string) error {
				if strings.HasPrefix(call, "create 10.244.1.0/24") {
					return quota
				}
				return nil
			}
		})
		l.join(bare(1))
		l.join(bare(3))
		l.after(3 * time.Minute)
		failed := []string{"node-1 FailedToCreateRoute quota of 1 route is used up"}
		var creations int
		l.change(func() {
			l.calls = slices.DeleteFunc(l.calls, func(c string) bool {
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
		l.expect("one fails", []string{"create 10.244.3.0/24 node-3 uid-3"}, failed, []string{"node-1 True", "node-3 False"})
		l.change(func() { l.fail = func(string) error { return nil } })
		l.after(2 * time.Minute)
		l.expect("it heals", []string{"create 10.244.1.0/24 node-1 uid-1"}, nil, []string{"node-1 False"})
	})
}

func TestLostReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost := map[string]bool{}
		l := prepare(t, Config{}, bare(1))
		l.change(func() {
			l.lose = func(call string) bool {
				was := lost[call]
				lost[call] = true
				return !was && call != "list"
			}
		})
		l.start()
		defer func() { l.stop() }()
		l.after(time.Minute)
		// The listing after the failure shows the route.
		l.expect("creation", []string{"create 10.244.1.0/24 node-1 uid-1"}, []string{"node-1 FailedToCreateRoute the reply was lost"}, []string{"node-1 False", "node-1 True"})
		l.leave("node-1")
		l.after(time.Minute)
		l.expect("removal", []string{"delete r1"}, nil, nil)
		if got := l.routes(); got != nil {
			t.Errorf("routes %v are left", got)
		}
	})
}

func TestListingsThatComeLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := prepare(t, Config{}, bare(1))
		l.change(func() { l.lag = 20 * time.Second })
		l.start()
		defer func() { l.stop() }()
		l.after(5 * time.Second)
		l.join(bare(2))
		l.after(time.Minute)
		l.expect("creation", []string{"create 10.244.1.0/24 node-1 uid-1", "create 10.244.2.0/24 node-2 uid-2"}, nil, []string{"node-1 False", "node-2 False"})
		l.leave("node-1")
		reused := bare(3)
		reused.Spec.PodCIDRs = []string{"10.244.1.0/24"}
		l.join(reused)
		l.after(10 * time.Minute)
		l.expect("CIDR of another node", []string{"create 10.244.1.0/24 node-3 uid-3", "delete r1"}, nil, []string{"node-3 False"})
		if diff := cmp.Diff([]string{"10.244.1.0/24 node-3", "10.244.2.0/24 node-2"}, l.routes()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOutageDuringARollout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, newNode(1))
		defer func() { l.stop() }()
		l.after(5 * time.Second)
		l.join(newNode(2))
		l.after(5 * time.Second)
		l.change(func() {
			l.calls, l.writes = nil, nil
			l.fail = func(string) error { return errors.New("down") }
		})
		l.leave("node-1")
		l.join(bare(3))
		l.after(10 * time.Minute)
		l.change(func() {
			if n := len(l.calls); n > 30 {
				t.Errorf("%d calls in ten minutes of an outage", n)
			}
			l.calls = nil
		})
		l.expect("the outage", nil, []string{"node-3 FailedToCreateRoute down"}, []string{"node-3 True"})
		l.change(func() { l.fail = func(string) error { return nil } })
		l.after(2 * time.Minute)
		l.expect("its end", []string{"create 10.244.3.0/24 node-3 uid-3", "delete r1"}, nil, []string{"node-3 False"})
	})
}

func TestNewLeaderDuringAnOutageCondemnsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := prepare(t, Config{}, newNode(1), newNode(2))
		l.change(func() { l.fail = func(string) error { return errors.New("down") } })
		l.start()
		defer func() { l.stop() }()
		l.after(10 * time.Minute)
		l.change(func() { l.calls = nil })
		l.expect("the outage", nil, nil, nil)
	})
}

func TestCallThatHangsHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := prepare(t, Config{}, bare(1))
		defer func() { l.stop() }()
		listed := false
		l.change(func() {
			l.takes = time.Second
			l.longer = func(call string) time.Duration {
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
		l.start()
		l.after(time.Hour + time.Minute)
		l.join(bare(2))
		l.after(2 * time.Second)
		l.join(bare(3))
		l.after(5 * time.Minute)
		if diff := cmp.Diff([]string{"10.244.1.0/24 node-1", "10.244.3.0/24 node-3"}, l.routes()); diff != "" {
			t.Error(diff)
		}
		l.change(func() { l.calls = nil })
		l.expect("a creation hangs", nil, nil, []string{"node-1 False", "node-2 True", "node-3 False"})
		l.after(2 * time.Hour)
		l.change(func() { l.calls = nil })
		l.expect("it returns", nil, nil, []string{"node-2 False"})
	})
}

// answers are those of a cloud, in order, each after half a minute.
type answers struct {
	routes

	next []error
}

// List is the cloud.
func (a *answers) List(context.Context) ([]cloud.Route, error) {
	time.Sleep(30 * time.Second)
	err := a.next[0]
	a.next = a.next[1:]
	return nil, err
}

// The gateway gives the answer of a question that was let go to the next who
// asks. It may show the table as it was when the first one asked.
func TestLateAnswerIsAsOldAsItsQuestion(t *testing.T) {
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
				c := prepared(t)
				defer func() {
					over, cancel := context.WithCancel(t.Context())
					cancel()
					_ = c.Run(over) // ends what New has started
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
func TestNodeThatWasReplacedUnseenHasBeenDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, bare(1), bare(2))
		defer func() { l.stop() }()
		l.after(5 * time.Second)
		again := bare(3)
		again.Name, again.ResourceVersion = "node-1", "8"
		l.change(func() { l.deleted["10.244.1.0/24"] = true })
		if _, err := l.cluster.CoreV1().Nodes().Update(t.Context(), again, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(time.Minute)
		if diff := cmp.Diff([]string{"10.244.2.0/24 node-2", "10.244.3.0/24 node-1"}, l.routes()); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
	})
}

// A condition that could not be written is not written when it has become wrong.
func TestRefusedWriteIsDroppedWithItsReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := prepare(t, Config{}, newNode(1)) // shows that it is reachable
		l.change(func() {
			l.refuse = errors.New("unavailable")
			l.fail = func(call string) error {
				if strings.HasPrefix(call, "create") {
					return errors.New("no")
				}
				return nil
			}
		})
		l.start()
		defer func() { l.stop() }()
		l.after(5 * time.Minute)
		l.change(func() { l.fail = func(string) error { return nil } })
		for healed := false; !healed; healed = len(l.routes()) == 1 {
			l.after(time.Second)
		}
		l.after(2 * time.Second)
		l.change(func() { l.refuse, l.writes, l.calls, l.events = nil, nil, nil, nil })
		l.after(10 * time.Minute)
		l.expect("once it is reachable again", nil, nil, nil)
	})
}

// What a Node has beside the route that serves it goes without anything being
// created for the Node.
func TestWhatIsBesideTheRouteGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, newNode(1))
		defer func() { l.stop() }()
		l.after(5 * time.Second)
		l.expect("creation", []string{"create 10.244.1.0/24 node-1 uid-1"}, nil, nil)
		l.change(func() {
			l.plant("node-1", "10.244.1.0/24").stray = time.Now()
			dead := l.plant("node-1", "10.244.1.0/24")
			dead.Blackhole, dead.stray = true, time.Now()
		})
		l.after(3 * time.Minute)
		l.expect("a twin and a blackhole", []string{"delete r2", "delete r3"}, nil, nil)
	})
}

// A job waits for the one before it. What has become wrong meanwhile is not
// done, and planned anew.
func TestJobThatHasWaited(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before func(l *life) // beside node-1, with a route to node-9 on the CIDR of node-2
		during func(l *life)
		want   []string
	}{
		{"NothingHasChanged", func(l *life) { l.join(bare(2)) }, func(*life) {}, []string{
			"create 10.244.1.0/24 node-1 uid-1", "create 10.244.2.0/24 node-2 uid-2", "delete r1",
		}},
		{"NodeHasGone", func(l *life) { l.join(bare(2)) }, func(l *life) { l.leave("node-2") }, []string{
			"create 10.244.1.0/24 node-1 uid-1", "delete r1",
		}},
		{"TargetClaimsTheCIDR", func(*life) {}, func(l *life) {
			nine := bare(9)
			nine.Spec.PodCIDRs = []string{"10.244.2.0/24"}
			l.join(nine)
		}, []string{"create 10.244.1.0/24 node-1 uid-1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := prepare(t, Config{Syncs: 1, Limits: Limits{BudgetRoutes: 3}}, bare(1))
				l.change(func() {
					l.deleted["10.244.2.0/24"] = true // so that S5 allows it
					l.plant("node-9", "10.244.2.0/24")
				})
				l.takes = 10 * time.Second
				tt.before(l)
				l.start()
				defer func() { l.stop() }()
				for underWay := false; !underWay; l.after(time.Second) {
					l.change(func() {
						underWay = slices.ContainsFunc(l.calls, func(c string) bool { return strings.HasPrefix(c, "create 10.244.1.0/24") })
					})
				}
				tt.during(l) // The other job waits.
				l.after(2 * time.Minute)
				l.change(func() { l.events, l.writes = nil, nil })
				l.expect("calls", tt.want, nil, nil)
			})
		})
	}
}

func TestHeldRoutesAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := prepare(t, Config{}, newNode(1))
		defer func() { l.stop() }()
		l.change(func() {
			for i := 101; i <= 110; i++ {
				l.plant(fmt.Sprintf("other-%d", i), fmt.Sprintf("10.244.%d.0/24", i)).stray = time.Now()
			}
		})
		l.start()
		l.after(25 * time.Second)
		l.expect("at first, when it may be over soon", []string{"create 10.244.1.0/24 node-1 uid-1"}, nil, nil)
		l.after(9 * time.Minute)
		l.expect("a crowd", nil, []string{"RouteDeletionHeld"}, nil)
		l.after(4 * time.Minute)
		if diff := cmp.Diff([]string{"10.244.1.0/24 node-1"}, l.routes()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestStoppedInstanceIsNotHammered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := begin(t, Config{}, newNode(1), newNode(2))
		defer func() { l.stop() }()
		l.after(5 * time.Second)
		l.expect("creation", []string{"create 10.244.1.0/24 node-1 uid-1", "create 10.244.2.0/24 node-2 uid-2"}, nil, nil)
		l.change(func() {
			l.stopped = "node-1"
			for _, e := range l.table {
				if e.Node == "node-1" {
					e.Blackhole, e.stray = true, time.Now()
				}
			}
		})
		l.after(time.Hour)
		l.change(func() {
			changes := slices.DeleteFunc(slices.Clone(l.calls), func(c string) bool { return c == "list" })
			if len(changes) > 50 {
				t.Errorf("%d changes in an hour for one stopped instance", len(changes))
			}
			if diff := cmp.Diff([]string{"node-1 True"}, l.writes); diff != "" {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			l.calls, l.writes, l.stopped = nil, nil, ""
			for _, e := range l.table {
				e.Blackhole, e.stray = false, time.Time{}
			}
		})
		l.after(7 * time.Minute)
		l.change(func() { l.calls = nil })
		l.expect("the instance runs again", nil, nil, []string{"node-1 False"})
	})
}

// Passes go on while the API server takes its time.
func TestSlowWriteIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := prepare(t, Config{}, bare(1), bare(2))
		l.writing = 10 * time.Second
		l.fail = func(call string) error {
			if strings.HasPrefix(call, "create 10.244.1.0/24") {
				return errors.New("no")
			}
			return nil
		}
		l.start()
		defer func() { l.stop() }()
		l.after(2 * time.Minute)
		l.change(func() { l.calls, l.events = nil, nil })
		l.expect("one condition each", nil, nil, []string{"node-1 True", "node-2 False"})
	})
}

func TestRefusedWriteIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := prepare(t, Config{}, bare(1))
		l.change(func() { l.refuse = errors.New("unavailable") })
		l.start()
		defer func() { l.stop() }()
		l.after(10 * time.Second)
		l.change(func() { l.refuse, l.writes, l.calls = nil, nil, nil })
		l.after(10 * time.Minute)
		l.expect("once it may", nil, nil, []string{"node-1 False"})
	})
}

// TestRandomLives lets nodes come, go and be replaced while the cloud fails in
// many ways, and then asks whether the table is what it should be. Each removal
// on the way is judged by mayGo.
func TestRandomLives(t *testing.T) {
	lives := 60
	if testing.Short() {
		lives = 10
	}
	for seed := range lives {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { randomLife(t, uint64(seed)) }) //nolint:gosec // it is not negative
		})
	}
}

func randomLife(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(1, seed))    //nolint:gosec // it shall be repeatable
	luck := rand.New(rand.NewPCG(2, seed)) //nolint:gosec // the cloud's own, guarded by mu: its calls are concurrent
	l := prepare(t, Config{Limits: Limits{StrayFor: 30 * time.Second, BudgetRoutes: 100, OverBudgetAfter: time.Hour}})
	foreign := []string{"10.9.0.0/24 gone", "10.244.0.0/15 gone", "10.244.250.0/24 ", "nonsense gone"}
	l.change(func() {
		for _, f := range foreign {
			cidr, node, _ := strings.Cut(f, " ")
			l.plant(node, cidr)
		}
		for i := range 3 {
			l.plant("gone", fmt.Sprintf("10.244.%d.0/24", 200+i)).stray = time.Now()
		}
		l.lag = time.Duration(r.IntN(20)) * time.Second
		l.fail = func(string) error {
			if luck.IntN(5) == 0 {
				return errors.New("no")
			}
			return nil
		}
		l.lose = func(call string) bool { return call != "list" && luck.IntN(10) == 0 }
	})
	l.start()
	there := map[int]*corev1.Node{}
	for step := range 40 {
		i := 1 + r.IntN(8)
		switch n := there[i]; {
		case n == nil:
			n = bare(i)
			n.UID = types.UID(fmt.Sprintf("uid-%d-%d", i, step))
			if r.IntN(3) == 0 { // with a CIDR that another one has had, perhaps
				n.Spec.PodCIDRs = []string{fmt.Sprintf("10.244.%d.0/24", 1+r.IntN(8))}
			}
			if slices.ContainsFunc(l.nodes(), func(o corev1.Node) bool { return slices.Equal(o.Spec.PodCIDRs, n.Spec.PodCIDRs) }) {
				continue
			}
			there[i] = n
			l.join(n)
		case r.IntN(2) == 0:
			delete(there, i)
			l.leave(n.Name)
		}
		if r.IntN(10) == 0 {
			l.stop()
			l.start()
		}
		l.after(time.Duration(r.IntN(8000)) * time.Millisecond)
	}
	l.change(func() {
		l.fail, l.lose = func(string) error { return nil }, func(string) bool { return false }
		// A leader that is gone has taken with it which deletions it saw.
		for _, e := range l.table {
			if e.stray.IsZero() {
				e.stray = time.Now()
			}
		}
	})
	l.after(10 * time.Minute)
	defer l.stop()
	want := slices.Clone(foreign)
	names := map[string]bool{}
	for _, n := range there {
		want = append(want, n.Spec.PodCIDRs[0]+" "+n.Name)
		names[n.Name] = true
	}
	got := slices.DeleteFunc(l.routes(), func(route string) bool {
		// A Node of that name may keep what an earlier one had while nobody saw it go.
		_, node, _ := strings.Cut(route, " ")
		return names[node] && !slices.Contains(want, route)
	})
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	l.change(func() { l.calls, l.events, l.writes = nil, nil, nil })
	l.after(10 * time.Minute)
	l.expect("at the end", nil, nil, nil)
}

// prepared is a controller that never runs.
func prepared(t *testing.T) *Controller {
	t.Helper()
	client := fake.NewClientset()
	informer := kube.NewInformerFactory(client, 0).Core().V1().Nodes()
	return New(Deps{Nodes: kube.NewNodes(t.Context(), client, informer), Informer: informer}, Config{})
}
