package ipam

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-k8s/fairlead/internal/kube"
)

var (
	paths = flag.Int("paths", 3000, "how many random paths TestWalk takes")
	seed  = flag.Uint64("seed", 1, "seed of the first path of TestWalk")
)

// names is the maximum number of Nodes at a time. Each family has CIDRs for one Node
// more.
const names = 6

var errTest = errors.New("the reply is lost")

// world simulates an API server with Nodes, and the processes that lead one after the
// other. The writes of a former leader can arrive at any time.
type world struct {
	t       *testing.T
	luck    *rand.Rand
	clock   *clocktesting.FakeClock
	nodes   map[string]*corev1.Node
	history []change // all changes so far, for caches that are behind
	version int
	// sent has the writes that can still arrive, although no client waits for their
	// replies any longer.
	sent []func()
	// given are the CIDRs that each Node has got, by UID.
	given map[types.UID][]string
	// trouble is the percentage of writes that fail in some way.
	trouble  int
	families []Family
	reserved []netip.Prefix
	steps    []string
}

// change is the state of a Node after a change. node is nil if the Node is
// gone.
type change struct {
	name string
	node *corev1.Node
}

func (w *world) note(format string, args ...any) {
	w.steps = append(w.steps, fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	for _, step := range w.steps {
		w.t.Log(step)
	}
	w.t.Fatalf(format, args...)
}

func (w *world) store(name string, node *corev1.Node) {
	w.version++
	if node == nil {
		delete(w.nodes, name)
	} else {
		node.ResourceVersion = strconv.Itoa(w.version)
		w.nodes[name] = node
	}
	w.history = append(w.history, change{name, node})
	w.check()
}

// check fails the test if something has happened that must never happen.
func (w *world) check() {
	w.t.Helper()
	taken := map[netip.Prefix]string{}
	for name, node := range w.nodes {
		has := node.Spec.PodCIDRs
		if before := w.given[node.UID]; len(before) > 0 && !slices.Equal(before, has) {
			w.fail("the CIDRs of %s have changed from %v to %v", name, before, has)
		}
		if len(has) == 0 {
			continue
		}
		w.given[node.UID] = has
		if len(has) != len(w.families) {
			w.fail("%s has the CIDRs %v, want one of each family", name, has)
		}
		for _, one := range parse(has) {
			// All CIDRs of a family have the same length, so two CIDRs that overlap
			// are equal.
			if holder, both := taken[one]; both || !slices.ContainsFunc(w.families, func(f Family) bool { return f.Mask == one.Bits() }) {
				w.fail("%v of %s overlaps with that of %q, or has another length", one, name, holder)
			}
			if slices.ContainsFunc(w.reserved, one.Overlaps) {
				w.fail("%v of %s is reserved", one, name)
			}
			taken[one] = name
		}
	}
}

// patch carries out a write as the API server does.
func (w *world) patch(p kube.NodePatch) (*corev1.Node, error) {
	now := w.nodes[p.Node.Name]
	switch {
	case now == nil:
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), p.Node.Name)
	case now.UID != p.Node.UID,
		len(p.PodCIDRs) > 0 && len(now.Spec.PodCIDRs) > 0,
		now.Annotations[AnnotationFence] != p.Node.Annotations[AnnotationFence]:
		return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
			Message: "the server rejected our request due to an error in our request",
		}}
	}
	next := now.DeepCopy()
	if len(p.PodCIDRs) > 0 {
		next.Spec.PodCIDRs = p.PodCIDRs
	}
	next.Annotations = maps.Clone(now.Annotations)
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	if v := p.Annotations[AnnotationFence]; v != nil {
		next.Annotations[AnnotationFence] = *v
	} else {
		delete(next.Annotations, AnnotationFence)
	}
	w.store(p.Node.Name, next)
	return next, nil
}

// leader is a process that leads. Its cache can be behind the API server.
type leader struct {
	*world

	controller *Controller
	seen       int // the number of changes of the history that are in its cache
	cache      map[string]*corev1.Node
	own        map[string]*corev1.Node // its own writes
	writes     int                     // the number of writes that it has begun
	dies       int                     // the number of the write during which it dies; 0: none
}

// candidate returns a process that does not lead yet. Its cache is empty.
func (w *world) candidate() *leader {
	l := &leader{world: w, cache: map[string]*corev1.Node{}, own: map[string]*corev1.Node{}}
	informer := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1().Nodes()
	l.controller = New(Deps{Nodes: l, Informer: informer, Events: nobody{}}, Config{Families: w.families, Reserved: w.reserved, Clock: w.clock})
	return l
}

func (w *world) lead() *leader {
	l := w.candidate()
	// The first list of an informer can be old.
	l.follow(max(0, len(w.history)-w.luck.IntN(10)))
	l.begin()
	return l
}

func (l *leader) begin() {
	for !l.controller.begin(silent(l.t)) {
		l.t.Fatal("not begun")
	}
	l.note("%s leads", l.controller.self)
}

// follow applies changes of the history to the cache, until the cache has the given
// number of them.
func (l *leader) follow(to int) {
	for ; l.seen < to; l.seen++ {
		c := l.history[l.seen]
		before := l.cache[c.name]
		if c.node == nil {
			delete(l.cache, c.name)
		} else {
			l.cache[c.name] = c.node
		}
		l.controller.onNode(c.name, before, c.node)
	}
}

func versionOf(n *corev1.Node) int {
	v, _ := strconv.Atoi(n.ResourceVersion)
	return v
}

func (l *leader) Cached(name string) (*corev1.Node, error) {
	node := l.cache[name]
	if node == nil {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
	}
	if own := l.own[name]; own != nil && versionOf(own) > versionOf(node) {
		return own, nil
	}
	return node, nil
}

func (l *leader) Live(_ context.Context, name string) (*corev1.Node, error) {
	if node := l.nodes[name]; node != nil {
		return node.DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
}

func (l *leader) All(context.Context) ([]corev1.Node, error) {
	var all []corev1.Node
	for _, name := range slices.Sorted(maps.Keys(l.nodes)) {
		all = append(all, *l.nodes[name].DeepCopy())
	}
	return all, nil
}

// Patch carries out the write, refuses it, carries it out without a reply, or returns
// an error while the write is still on its way.
func (l *leader) Patch(_ context.Context, p kube.NodePatch) (*corev1.Node, error) {
	l.writes++
	what := fmt.Sprintf("%s writes %s: %v %v", l.controller.self, p.Node.Name, p.PodCIDRs, p.Annotations[AnnotationFence] != nil)
	if l.writes == l.dies || l.luck.IntN(100) < l.trouble {
		switch l.luck.IntN(4) {
		case 0:
			l.note("%s, refused", what)
			return nil, apierrors.NewForbidden(corev1.Resource("nodes"), p.Node.Name, errTest)
		case 1:
			_, err := l.patch(p)
			l.note("%s, reply lost (%v)", what, err)
			return nil, errTest
		default:
			l.note("%s, on its way", what)
			l.sent = append(l.sent, func() { _, err := l.patch(p); l.note("%s, arrived (%v)", what, err) })
			return nil, errTest
		}
	}
	node, err := l.patch(p)
	l.note("%s (%v)", what, err)
	if err == nil {
		l.own[p.Node.Name] = node
	}
	return node, err
}

// silent returns a context whose logger writes nothing.
func silent(t *testing.T) context.Context { return klog.NewContext(t.Context(), klog.Logger{}) }

type nobody struct{}

func (nobody) Node(*corev1.Node, string, string, string)          {}
func (nobody) Lease(types.NamespacedName, string, string, string) {}

// step makes one random event happen, and returns the process that leads after it.
func (w *world) step(l *leader) *leader {
	name := fmt.Sprint("n", w.luck.IntN(names))
	switch what := w.luck.IntN(40); {
	case what < 5 && w.nodes[name] == nil:
		w.note("%s registers", name)
		w.store(name, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(fmt.Sprint("u", w.version)), CreationTimestamp: metav1.NewTime(w.clock.Now()),
		}})
	case what < 5 && w.luck.IntN(3) == 0:
		w.note("%s is deleted", name)
		w.store(name, nil)
	case what < 8:
		w.clock.Step(time.Duration(w.luck.IntN(20)) * time.Second)
	case what == 8 && len(w.sent) > 0:
		n := w.luck.IntN(len(w.sent))
		arrives := w.sent[n]
		w.sent = slices.Delete(w.sent, n, n+1)
		arrives()
	case what < 12: // the leader is killed or frozen: the writes that it has sent can still arrive
		return w.lead()
	case what < 18:
		l.follow(min(len(w.history), l.seen+1+w.luck.IntN(5)))
	default:
		w.pass(l, name)
	}
	return l
}

func (w *world) pass(l *leader, name string) {
	if _, err := l.controller.pass(silent(w.t), name); err != nil {
		w.note("pass over %s: %v", name, err)
	}
}

// rest ends a run. It lets all remaining writes arrive, and makes six rounds of passes.
// Then all Nodes must have CIDRs, and the ledger must agree with the API server.
func (w *world) rest(l *leader) {
	w.trouble = 0
	for _, arrives := range w.sent {
		arrives()
	}
	w.sent = nil
	names := map[string]bool{}
	for _, c := range w.history {
		names[c.name] = true
	}
	all := slices.Sorted(maps.Keys(names))
	for range 6 {
		w.clock.Step(longWait)
		l.follow(len(w.history))
		for _, name := range all {
			w.pass(l, name)
		}
	}
	for name, node := range w.nodes {
		if len(node.Spec.PodCIDRs) == 0 {
			w.fail("%s has no CIDRs in the end", name)
		}
	}
	held := 0
	for _, e := range l.controller.ledger.entries {
		held++
		if node := w.nodes[e.name]; node == nil || node.UID != e.uid || !slices.Equal(texts(e.cidrs), node.Spec.PodCIDRs) {
			w.fail("the ledger has %+v, which is not the API server's %v", *e, node)
		}
	}
	if held != len(w.nodes) || len(l.controller.ledger.suspects) > 0 {
		w.fail("the ledger has %d Nodes, %d exist; suspects: %v", held, len(w.nodes), l.controller.ledger.suspects)
	}
	for _, p := range l.controller.ledger.pools {
		if want := len(w.nodes) + 1; p.taken != want { // One is reserved.
			w.fail("%d CIDRs of %v are taken, want %d: one was lost", p.taken, p.Cluster, want)
		}
	}
}

// TestWalk runs random sequences of events. Nodes are created, deleted, and created
// again with the same names. Leaders are killed between any two steps. Writes are
// refused, their replies are lost, or they arrive after their leader is gone. Caches
// are behind. No two Nodes ever have CIDRs that overlap. In the end each Node has
// CIDRs, and no CIDR is lost.
func TestWalk(t *testing.T) {
	n := *paths
	if testing.Short() {
		n = min(n, 500)
	}
	for k := range n {
		s := *seed + uint64(k)
		w := &world{
			t: t, luck: rand.New(rand.NewPCG(s, 0)), clock: clocktesting.NewFakeClock(noon),
			nodes: map[string]*corev1.Node{}, given: map[types.UID][]string{}, trouble: 40,
			families: []Family{family("10.0.0.0/29", 32), family("fd00::/61", 64)}, // 8 each
			reserved: cidrs("10.0.0.0/32", "fd00::/64"),
		}
		w.note("repeat it with -seed=%d -paths=1", s)
		l := w.lead()
		for range 300 {
			l = w.step(l)
		}
		w.rest(l)
	}
}
