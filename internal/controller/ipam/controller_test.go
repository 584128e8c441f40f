package ipam

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/component-base/metrics"

	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/testlog"
)

func TestMain(m *testing.M) { testlog.Run(m) }

// bed is the test bed: a cluster and a controller. Each test runs in a synctest bubble.
type bed struct {
	t       *testing.T
	cluster *fake.Clientset
	metrics *Metrics
	shown   metrics.KubeRegistry
	stop    func()

	onEvent func(what string) // if not nil, called before an event is recorded

	mu      sync.Mutex
	events  []string // guarded by mu
	version int      // guarded by mu
}

// prepare returns a bed whose controller does not run yet.
func prepare(t *testing.T, all ...*corev1.Node) *bed {
	t.Helper()
	var objects []runtime.Object
	for _, n := range all {
		objects = append(objects, n)
	}
	registry := metrics.NewKubeRegistry()
	b := &bed{t: t, cluster: fake.NewSimpleClientset(objects...), shown: registry, metrics: NewMetrics(registry.MustRegister, registry.CustomMustRegister)}
	b.cluster.PrependReactor("patch", "nodes", b.patch)
	return b
}

// patch carries out a patch as the API server does. It sets a new resourceVersion, and
// refuses a patch whose tests fail.
func (b *bed) patch(a clienttesting.Action) (bool, runtime.Object, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, obj, err := clienttesting.ObjectReaction(b.cluster.Tracker())(a)
	if err != nil && !apierrors.IsNotFound(err) {
		err = &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
			Message: "the server rejected our request due to an error in our request",
		}}
	}
	if err != nil {
		return true, nil, err
	}
	n := obj.(*corev1.Node).DeepCopy()
	n.ResourceVersion = b.nextLocked()
	return true, n, b.cluster.Tracker().Update(a.GetResource(), n, "")
}

// next returns the next resourceVersion. All Nodes share one counter, as in the API
// server.
func (b *bed) next() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.nextLocked()
}

func (b *bed) nextLocked() string {
	b.version++
	return strconv.Itoa(b.version + 1)
}

func (b *bed) start(families ...Family) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	informers := kube.NewInformerFactory(b.cluster, time.Hour, nil)
	informer := informers.Core().V1().Nodes()
	c := New(Deps{Nodes: kube.NewNodes(ctx, b.cluster, informer), Informer: informer, Events: b},
		Config{Families: families, Lease: types.NamespacedName{Namespace: "kube-system", Name: "ccm"}, Metrics: b.metrics})
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
	b.pass(time.Second)
}

// pass lets time go by.
func (b *bed) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (b *bed) Node(n *corev1.Node, _, reason, message string) { b.record(n.Name+" "+reason, message) }

func (b *bed) Lease(l types.NamespacedName, _, reason, message string) {
	b.record(l.String()+" "+reason, message)
}

func (b *bed) record(what, _ string) {
	if b.onEvent != nil {
		b.onEvent(what)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, what)
}

// told fails the test unless the events since its last call are the given ones.
func (b *bed) told(want ...string) {
	b.t.Helper()
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.Sort(b.events)
	if diff := cmp.Diff(want, b.events); diff != "" {
		b.t.Errorf("events (-want +got):\n%s", diff)
	}
	b.events = nil
}

func (b *bed) add(name string) {
	b.t.Helper()
	n := named(name)
	n.ResourceVersion = b.next()
	if _, err := b.cluster.CoreV1().Nodes().Create(b.t.Context(), n, metav1.CreateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) remove(name string) {
	b.t.Helper()
	if err := b.cluster.CoreV1().Nodes().Delete(b.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// cidrs returns the CIDRs of all Nodes that have CIDRs. It checks that no CIDRs
// overlap, and that no fence is left on these Nodes.
func (b *bed) cidrs() map[string]string {
	b.t.Helper()
	list, err := b.cluster.CoreV1().Nodes().List(b.t.Context(), metav1.ListOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	all := map[string]string{}
	for _, n := range list.Items {
		if len(n.Spec.PodCIDRs) == 0 {
			continue
		}
		if n.Spec.PodCIDR != n.Spec.PodCIDRs[0] || n.Annotations[AnnotationFence] != "" {
			b.t.Errorf("%s has podCIDR %q, podCIDRs %v and the annotations %v", n.Name, n.Spec.PodCIDR, n.Spec.PodCIDRs, n.Annotations)
		}
		for name, other := range all {
			if slices.ContainsFunc(parse(n.Spec.PodCIDRs), func(c netip.Prefix) bool { return slices.ContainsFunc(parse(strings.Split(other, ",")), c.Overlaps) }) {
				b.t.Errorf("%v of %s overlaps with %s of %s", n.Spec.PodCIDRs, n.Name, other, name)
			}
		}
		all[n.Name] = strings.Join(n.Spec.PodCIDRs, ",")
	}
	return all
}

// served waits for this time, and then returns the number of Nodes that have CIDRs.
func (b *bed) served(after time.Duration) int {
	b.t.Helper()
	b.pass(after)
	return len(b.cidrs())
}

var uids int // the number of Nodes that have been made

func named(name string, has ...string) *corev1.Node {
	uids++
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(fmt.Sprint(name, "-", uids)), ResourceVersion: "1", CreationTimestamp: metav1.Now(),
	}}
	if len(has) > 0 {
		n.Spec.PodCIDR, n.Spec.PodCIDRs = has[0], has
	}
	return n
}

// When the first Node has waited for 10 seconds, each Node that waits gets a CIDR of
// each family, both in one patch. Later Nodes get their CIDRs at once. When all CIDRs
// are taken, an event on the next Node says so. That Node gets the CIDRs of the first
// Node that is deleted.
func TestNodesGetCIDRs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, named("a"), named("b"), named("c", "10.0.2.0/24", "fd00:0:0:3::/64"))
		b.start(family("10.0.0.0/22", 24), family("fd00::/60", 64))
		defer func() { b.stop() }()
		if n := b.served(shortWait - 2*time.Second); n != 1 {
			t.Errorf("%d Nodes have CIDRs before anybody else could have given some", n)
		}
		if n := b.served(2 * time.Second); n != 3 {
			t.Errorf("%d Nodes have CIDRs", n)
		}
		b.add("d")
		if n := b.served(0); n != 4 {
			t.Errorf("%d Nodes have CIDRs", n)
		}
		b.told()
		b.add("e")
		b.pass(time.Minute)
		b.told("e CIDRNotAvailable")
		metric(b, "10.0.0.0/22", 4, 0, 1, 4, 3)
		b.remove("c")
		if n := b.served(0); n != 4 {
			t.Errorf("%d Nodes have CIDRs", n)
		}
		b.told()
		metric(b, "10.0.0.0/22", 5, 1, 1, 4, 4)
		metric(b, "fd00::/60", 5, 1, 0.25, 16, 4)
		b.remove("d") // recreated with the same name
		b.add("d")
		if n := b.served(0); n != 4 {
			t.Errorf("%d Nodes have CIDRs", n)
		}
	})
}

// metric compares the metrics of one of the cluster's CIDRs with the given values.
func metric(b *bed, cluster string, want ...float64) {
	b.t.Helper()
	families, err := b.shown.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if len(m.GetLabel()) == 1 && m.GetLabel()[0].GetName() == "clusterCIDR" && m.GetLabel()[0].GetValue() == cluster {
				got[f.GetName()] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	wanted := map[string]float64{}
	for n, name := range []string{
		"node_ipam_controller_cidrset_cidrs_allocations_total", "node_ipam_controller_cidrset_cidrs_releases_total", "node_ipam_controller_cidrset_usage_cidrs",
		"node_ipam_controller_cirdset_max_cidrs", "node_ipam_controller_cidrset_allocation_tries_per_request",
	} {
		wanted[name] = want[n]
	}
	if diff := cmp.Diff(wanted, got); diff != "" {
		b.t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// While another allocator gives CIDRs, this daemon gives none, and its events name
// the other allocator. Once a Node has waited for ten minutes, the other allocator
// counts as gone.
func TestOtherAllocator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, named("a", "10.0.0.0/24"))
		b.start(family("10.0.0.0/16", 24))
		defer func() { b.stop() }()
		for n := range 5 {
			name := fmt.Sprint("n", n)
			b.add(name)
			b.pass(time.Second)
			b.give(name, fmt.Sprintf("10.0.%d.0/24", n+1))
			b.pass(5 * time.Second)
		}
		b.told("kube-system/ccm CIDRAllocatorsConflict")
		b.add("late")
		if n := b.served(longWait - 10*time.Second); n != 6 {
			t.Errorf("%d Nodes have CIDRs, one of them from this daemon", n)
		}
		b.told("late CIDRAllocatorConflict")
		if n := b.served(10 * time.Second); n != 7 {
			t.Errorf("%d Nodes have CIDRs", n)
		}
		for _, n := range b.writes() {
			if n != "late" {
				t.Errorf("the daemon has written %s", n)
			}
		}
	})
}

// give gives a CIDR to a Node, as another allocator would.
func (b *bed) give(name, cidr string) {
	b.t.Helper()
	n, err := b.cluster.CoreV1().Nodes().Get(b.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	n = n.DeepCopy()
	n.ResourceVersion, n.Spec.PodCIDR, n.Spec.PodCIDRs = b.next(), cidr, []string{cidr}
	if _, err := b.cluster.CoreV1().Nodes().Update(b.t.Context(), n, metav1.UpdateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// writes returns the Nodes that the daemon has written.
func (b *bed) writes() (names []string) {
	for _, a := range b.cluster.Actions() {
		if patch, ok := a.(clienttesting.PatchAction); ok {
			names = append(names, patch.GetName())
		}
	}
	return names
}

// While one Node cannot be fenced, an earlier leader may still write it, and no Node
// gets CIDRs. Each of the two Nodes gets an event that says why.
func TestNodeThatCannotBeFencedHoldsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, named("a"), named("b"))
		refused := true
		var mu sync.Mutex
		b.cluster.PrependReactor("patch", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			return refused && a.(clienttesting.PatchAction).GetName() == "a", nil, apierrors.NewForbidden(corev1.Resource("nodes"), "a", errors.New("no"))
		})
		b.start(family("10.0.0.0/16", 24))
		defer func() { b.stop() }()
		if n := b.served(time.Minute); n != 0 {
			t.Errorf("%d Nodes have CIDRs", n)
		}
		b.told("a CIDRAssignmentFailed", "b CIDRAssignmentHeld")
		mu.Lock()
		refused = false
		mu.Unlock()
		if n := b.served(2 * time.Minute); n != 2 {
			t.Errorf("%d Nodes have CIDRs", n)
		}
		b.told()
	})
}

// A Node that cannot be fenced gets CIDRs from elsewhere. The other Nodes get theirs at
// once, although nothing else changes.
func TestLastSuspectNodeGetsCIDRsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, named("a"), named("b"))
		b.cluster.PrependReactor("patch", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
			return a.(clienttesting.PatchAction).GetName() == "a", nil, apierrors.NewForbidden(corev1.Resource("nodes"), "a", errors.New("no"))
		})
		b.start(family("10.0.0.0/16", 24))
		defer func() { b.stop() }()
		b.pass(2 * time.Minute) // The event about the wait is recorded.
		b.give("a", "10.0.7.0/24")
		if n := b.served(time.Second); n != 2 {
			t.Errorf("%d Nodes have CIDRs", n)
		}
	})
}

// A kubelet can fill its Node with annotations until no other annotation fits. Then
// this Node gets no CIDRs, but after a while the other Nodes no longer wait for it.
func TestNodeThatTakesNoFenceHoldsOthersForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, named("a"), named("b"))
		refused := true
		var mu sync.Mutex
		b.cluster.PrependReactor("patch", "nodes", func(a clienttesting.Action) (bool, runtime.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			return refused && a.(clienttesting.PatchAction).GetName() == "a", nil,
				apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Node").GroupKind(), "a", field.ErrorList{field.TooLong(field.NewPath("metadata", "annotations"), "", 262144)})
		})
		b.start(family("10.0.0.0/16", 24))
		defer func() { b.stop() }()
		if n := b.served(longWait - time.Second); n != 0 {
			t.Errorf("%d Nodes have CIDRs", n)
		}
		b.told("a CIDRAssignmentFailed", "b CIDRAssignmentHeld")
		if got := b.served(3 * time.Minute); got != 1 || b.cidrs()["b"] == "" {
			t.Errorf("%v have CIDRs", b.cidrs())
		}
		b.add("c")
		if n := b.served(time.Second); n != 2 {
			t.Errorf("%d Nodes have CIDRs", n)
		}
		mu.Lock()
		refused = false
		mu.Unlock()
		if n := b.served(2 * time.Minute); n != 3 {
			t.Errorf("%d Nodes have CIDRs", n)
		}
	})
}

// Suppose that a pass finds no free CIDR for a Node, and that a CIDR becomes free just
// after that. Then this Node gets the CIDR.
func TestReleaseBetweenDecisionAndWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, named("a", "10.0.0.0/24"), named("z"))
		b.onEvent = func(what string) {
			if what == "b CIDRNotAvailable" {
				b.remove("a")
				time.Sleep(time.Second) // The pass that releases the CIDR runs on another worker.
			}
		}
		b.start(family("10.0.0.0/23", 24))
		defer func() { b.stop() }()
		b.pass(time.Minute)
		b.add("b")
		if n := b.served(time.Hour); n != 2 {
			t.Errorf("%d Nodes have CIDRs", n)
		}
	})
}

// No CIDR is given before all Nodes are listed, and an event reports CIDRs that overlap.
func TestNothingIsGivenBeforeAllNodesAreListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, named("a"), named("b", "10.0.0.0/23"), named("c", "10.0.1.0/24"))
		lists := 0
		var mu sync.Mutex
		b.cluster.PrependReactor("list", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
			mu.Lock()
			defer mu.Unlock()
			if lists++; lists == 1 || lists > 6 {
				return false, nil, nil // the list of the informer, or after five failures
			}
			return true, nil, errors.New("down")
		})
		b.start(family("10.0.0.0/16", 24))
		defer func() { b.stop() }()
		b.pass(20 * time.Second)
		if len(b.writes()) > 0 {
			t.Errorf("the daemon has written %v", b.writes())
		}
		b.pass(20 * time.Second)
		if len(b.writes()) == 0 {
			t.Error("nothing was given")
		}
		b.told("c CIDROverlap")
	})
}
