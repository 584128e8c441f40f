package route

import (
	"context"
	"errors"
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
	"github.com/fairlead-k8s/fairlead/internal/testlog"
)

func TestMain(m *testing.M) { testlog.Run(m) }

// bed is a test bed: a cluster, a cloud's route table and a controller. Each test runs
// in a synctest bubble.
type bed struct {
	t       *testing.T
	cluster *fake.Clientset
	config  Config
	stop    func()

	mu      sync.Mutex
	table   []*tableEntry
	tables  int                             // the number of route tables in the cloud; each has all routes; guarded by mu
	serial  int                             // the number in the newest route's name; guarded by mu
	busy    map[string]bool                 // CIDRs of calls under way; guarded by mu
	most    int                             // the largest number of calls at once; guarded by mu
	calls   []string                        // guarded by mu
	events  []string                        // guarded by mu
	writes  []string                        // guarded by mu
	takes   time.Duration                   // guarded by mu
	lag     time.Duration                   // the time until a change is listed; guarded by mu
	longer  func(call string) time.Duration // added to takes
	fail    func(call string) error
	lose    func(call string) bool // if true, the cloud makes the change, but its reply is lost
	writing time.Duration          // the duration of a write to the API server
	refuse  error                  // the error of each write to the API server; guarded by mu
	deleted map[string]bool        // CIDRs of Nodes that were deleted; guarded by mu
	stopped string                 // the node whose instance is stopped; guarded by mu
}

// tableEntry is a route with its history.
type tableEntry struct {
	cloud.Route
	made, gone time.Time // gone is zero while the route exists
	stray      time.Time // the time since which no Node has needed the route; zero if a Node needs it
}

// prepare returns a bed whose controller does not run yet.
func prepare(t *testing.T, cfg Config, nodes ...*corev1.Node) *bed {
	t.Helper()
	if cfg.Clusters == nil {
		cfg.Clusters = []netip.Prefix{pods, pods6}
	}
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
	b := &bed{
		t: t, cluster: fake.NewSimpleClientset(objects...), config: cfg, tables: 1, busy: map[string]bool{}, takes: 100 * time.Millisecond,
		longer: func(string) time.Duration { return 0 }, fail: func(string) error { return nil }, lose: func(string) bool { return false }, deleted: map[string]bool{},
	}
	b.cluster.PrependReactor("patch", "nodes", b.onPatch)
	return b
}

func begin(t *testing.T, cfg Config, nodes ...*corev1.Node) *bed {
	t.Helper()
	b := prepare(t, cfg, nodes...)
	b.start()
	return b
}

func (b *bed) onPatch(action clienttesting.Action) (bool, runtime.Object, error) {
	patch := action.(clienttesting.PatchAction)
	b.mu.Lock()
	defer b.mu.Unlock()
	if action.GetSubresource() != "status" {
		b.t.Errorf("a patch of %q, want all to go to the status", action.GetSubresource())
	}
	status := "True"
	if strings.Contains(string(patch.GetPatch()), `"status":"False"`) {
		status = "False"
	}
	b.writes = append(b.writes, patch.GetName()+" "+status)
	return b.refuse != nil, nil, b.refuse
}

func (b *bed) start() {
	ctx, cancel := context.WithCancel(b.t.Context())
	informers := kube.NewInformerFactory(b.cluster, 0, nil)
	informer := informers.Core().V1().Nodes()
	c := New(Deps{Nodes: slowNodes{kube.NewNodes(ctx, b.cluster, informer), b.writing}, Informer: informer, Routes: b, Events: b}, b.config)
	informers.StartWithContext(ctx)
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	b.stop = func() {
		cancel()
		if err := <-done; err != nil {
			b.t.Errorf("Run: %v", err)
		}
		informers.Shutdown()
	}
	synctest.Wait()
}

// slowNodes is an API server whose writes take time.
type slowNodes struct {
	nodes

	takes time.Duration
}

// PatchStatus implements nodes.
func (s slowNodes) PatchStatus(ctx context.Context, name string, p kube.NodeStatusPatch) (*corev1.Node, error) {
	time.Sleep(s.takes)
	return s.nodes.PatchStatus(ctx, name, p)
}

// Node implements recorder.
func (b *bed) Node(node *corev1.Node, _, reason, message string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, node.Name+" "+reason+" "+message[strings.LastIndex(message, ": ")+2:])
}

// Lease implements recorder.
func (b *bed) Lease(_ types.NamespacedName, _, reason, _ string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, reason)
}

// call makes one call to the cloud. The call lasts for b.takes or longer. Unless it
// fails, it makes the change.
func (b *bed) call(ctx context.Context, call, cidr string, change func()) error {
	b.mu.Lock()
	b.calls = append(b.calls, call)
	if cidr != "" && b.busy[cidr] {
		b.t.Errorf("%s overlaps another call for this CIDR", call)
	}
	b.busy[cidr] = true
	b.most = max(b.most, len(b.busy))
	takes, err, lost := b.takes+b.longer(call), b.fail(call), b.lose(call)
	b.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		err = ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.busy, cidr)
	if err == nil || lost {
		change()
	}
	if lost {
		err = errors.New("the reply was lost")
	}
	return err
}

// List implements routes.
func (b *bed) List(ctx context.Context) ([]cloud.Route, error) {
	var listed []cloud.Route
	err := b.call(ctx, "list", "", func() {
		now := time.Now()
		for _, e := range b.table {
			seen := !e.made.Add(b.lag).After(now)
			if seen && (e.gone.IsZero() || e.gone.Add(b.lag).After(now)) {
				listed = append(listed, e.Route)
			}
		}
	})
	return listed, err
}

// Create implements routes. It does not create a route twice.
func (b *bed) Create(ctx context.Context, hint string, r cloud.Route) error {
	return b.call(ctx, "create "+r.CIDR+" "+r.Node+" "+hint, r.CIDR, func() {
		for _, e := range b.table {
			if e.gone.IsZero() && e.CIDR == r.CIDR && e.Node == r.Node {
				return
			}
		}
		b.addRoute(r.Node, r.CIDR)
	})
}

// Delete implements routes.
func (b *bed) Delete(ctx context.Context, r cloud.Route) error {
	return b.call(ctx, "delete "+r.Name, r.CIDR, func() { //nolint:contextcheck // checkRemoval reads the cluster with the context of the test
		for _, e := range b.table {
			if e.gone.IsZero() && e.Name == r.Name {
				b.checkRemoval(e)
				e.gone = time.Now()
			}
		}
	})
}

// checkRemoval checks promise S5 without the code of the rules. The caller holds mu.
func (b *bed) checkRemoval(e *tableEntry) {
	cidr, err := netip.ParsePrefix(e.CIDR)
	if err != nil || e.Node == "" && !e.Blackhole || !pods.Overlaps(cidr) && !pods6.Overlaps(cidr) || cidr.Bits() <= pods.Bits() {
		b.t.Errorf("S5: %+v was removed, which is foreign", e.Route)
	}
	for _, n := range b.nodes() {
		if slices.Contains(n.Spec.PodCIDRs, e.CIDR) && n.Name != e.Node {
			return // promise S5 a
		}
	}
	if b.deleted[e.CIDR] {
		return // promise S5 b
	}
	if e.stray.IsZero() || time.Since(e.stray) < DefaultLimits().StrayFor {
		b.t.Errorf("S5: %+v was removed after being stray since %v, at %v", e.Route, e.stray, time.Now())
	}
}

// addRoute puts a route into each table, and returns the last entry. The caller
// holds mu.
func (b *bed) addRoute(node, cidr string) *tableEntry {
	for range b.tables - 1 {
		b.addEntry(node, cidr)
	}
	return b.addEntry(node, cidr)
}

func (b *bed) addEntry(node, cidr string) *tableEntry {
	b.serial++
	e := &tableEntry{Route: cloud.Route{Name: "r" + strconv.Itoa(b.serial), Node: node, CIDR: cidr}, made: time.Now()}
	if node == b.stopped && node != "" {
		e.Blackhole, e.stray = true, time.Now()
	}
	b.table = append(b.table, e)
	return e
}

func (b *bed) nodes() []corev1.Node {
	list, err := b.cluster.CoreV1().Nodes().List(b.t.Context(), metav1.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	return list.Items
}

// routes returns the CIDR and the Node of each route. If there are several
// tables, it does not say which of them have the route.
func (b *bed) routes() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var there []string
	for _, e := range b.table {
		if e.gone.IsZero() {
			there = append(there, e.CIDR+" "+e.Node)
		}
	}
	slices.Sort(there)
	if b.tables > 1 {
		there = slices.Compact(there)
	}
	return there
}

func (b *bed) locked(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

func (b *bed) createNode(n *corev1.Node) {
	b.t.Helper()
	n.ResourceVersion = "7"
	if _, err := b.cluster.CoreV1().Nodes().Create(b.t.Context(), n, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) deleteNode(name string) {
	b.t.Helper()
	n, err := b.cluster.CoreV1().Nodes().Get(b.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	b.locked(func() {
		for _, cidr := range n.Spec.PodCIDRs {
			b.deleted[cidr] = true
		}
	})
	if err := b.cluster.CoreV1().Nodes().Delete(b.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

func (*bed) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// expect checks that the calls, events and writes since the last call of expect are the
// wanted ones. Listings do not count.
func (b *bed) expect(what string, calls, events, writes []string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = slices.DeleteFunc(b.calls, func(c string) bool { return c == "list" })
	for _, c := range []struct {
		kind      string
		got, want []string
	}{{"calls", b.calls, calls}, {"events", b.events, events}, {"writes", b.writes, writes}} {
		slices.Sort(c.got)
		if diff := cmp.Diff(c.want, c.got, cmp.Transformer("empty", func(s []string) string { return strings.Join(s, "\n") })); diff != "" {
			b.t.Errorf("%s: %s (-want +got):\n%s", what, c.kind, diff)
		}
	}
	b.calls, b.events, b.writes = nil, nil, nil
}

// bare returns a Node without a condition.
func bare(i int) *corev1.Node {
	n := newNode(i)
	noCondition(n)
	return n
}

// idle returns a controller that does not run.
func idle(t *testing.T) *Controller {
	t.Helper()
	client := fake.NewSimpleClientset()
	informer := kube.NewInformerFactory(client, 0, nil).Core().V1().Nodes()
	return New(Deps{Nodes: kube.NewNodes(t.Context(), client, informer), Informer: informer}, Config{})
}
