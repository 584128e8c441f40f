package walks_test

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/test/quirks"
)

// serviceTrail has what the test has observed about a Service, independently of the daemon.
type serviceTrail struct {
	name    string
	foreign bool // the Service was always of another class
	// given means that the Service has been given to a class that the daemon does not
	// serve.
	given bool
	// finalized means that the Service has had the finalizer.
	finalized bool
	// known is the last address that the running daemon can know.
	known string
	// tampered means that somebody has changed the finalizer or the address.
	tampered bool
	// served means that the running daemon has made a call about the Service.
	served bool
	// fragile means that only the running daemon can know of the load balancer.
	// excused means that the load balancer may be left behind: no daemon knows of
	// it any more, or the provider cannot find it.
	fragile, excused       bool
	changes, calls, writes int
	events                 []string
}

// nodeTrail has what the test has observed about a Node, independently of the daemon.
type nodeTrail struct {
	name    string
	kind    kind
	machine *machine
	ownRack bool // the user set the label before the Node was initialised
	// excluded is the time at which the Node was last excluded or included.
	excluded              time.Time
	rack                  int // the newest value of the label that was written
	changes, asks, writes int
	events                []string
}

// observer is the provider that the daemon uses, with its quirks. It checks promises at
// each call about a Service.
type observer struct {
	*quirks.Provider

	w *world
}

// LoadBalancer implements cloudprovider.Interface.
func (o observer) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	inner, ok := o.Provider.LoadBalancer()
	return observedBalancers{inner, o.w}, ok
}

type observedBalancers struct {
	cloudprovider.LoadBalancer

	w *world
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer.
func (b observedBalancers) EnsureLoadBalancer(ctx context.Context, cluster string, s *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	defer b.w.called("ensure", s)()
	status, err := b.LoadBalancer.EnsureLoadBalancer(ctx, cluster, s, nodes)
	if err == nil && len(status.Ingress) > 0 {
		b.w.locked(func() { b.w.services[s.UID].known = status.Ingress[0].IP })
	}
	return status, err
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer.
func (b observedBalancers) UpdateLoadBalancer(ctx context.Context, cluster string, s *corev1.Service, nodes []*corev1.Node) error {
	defer b.w.called("update", s)()
	return b.LoadBalancer.UpdateLoadBalancer(ctx, cluster, s, nodes)
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (b observedBalancers) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, s *corev1.Service) error {
	defer b.w.called("delete", s)()
	b.w.locked(func() { b.w.handed(s) })
	err := b.LoadBalancer.EnsureLoadBalancerDeleted(ctx, cluster, s)
	if err == nil {
		b.w.locked(func() { b.w.services[s.UID].known = "" })
	}
	return err
}

// called checks a call about a Service. The returned function records the end of the call.
func (w *world) called(what string, s *corev1.Service) (ended func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	trail := w.services[s.UID]
	trail.calls++
	trail.served = true
	w.note("    %s of %s with %v", what, s.UID, s.Annotations)
	if under := w.busy[s.UID]; under != "" {
		w.broken("S3: %s of %s overlaps %s", what, s.UID, under)
	}
	w.busy[s.UID] = what
	switch {
	case trail.foreign:
		w.broken("S4 a: %s of %s, although it has another class", what, s.UID)
	case what != "delete" && !trail.finalized:
		w.broken("S2: %s of %s, although it has never had the finalizer", what, s.UID)
	}
	return func() {
		w.locked(func() {
			delete(w.busy, s.UID)
			w.note("    end of %s of %s", what, s.UID)
		})
	}
}

// handed checks the Service that is handed to EnsureLoadBalancerDeleted. The
// caller holds mu.
func (w *world) handed(s *corev1.Service) {
	trail, given := w.services[s.UID], addressOf(s)
	lb := w.balance[s.UID]
	switch {
	case given == "" && trail.known != "":
		w.broken("S2: %s is deleted without its address %s", s.UID, trail.known)
	case !trail.tampered && lb != nil && trail.known == lb.address && given != lb.address:
		w.broken("S2: %s is deleted with the address %s, it has %s", s.UID, given, lb.address)
	}
	if given == "" && w.has(quirks.DeletesByAddress) {
		trail.excused = true // Without the address the provider cannot find the load balancer.
	}
}

func addressOf(s *corev1.Service) string {
	if ingress := s.Status.LoadBalancer.Ingress; len(ingress) > 0 {
		return ingress[0].IP
	}
	return ""
}

func isTheirs(s *corev1.Service) bool { return s.Spec.LoadBalancerClass != nil }

// shows records the address and the finalizer of a Service when the Service is
// written. The caller holds mu.
func (w *world) shows(s *corev1.Service) {
	trail := w.services[s.UID]
	trail.finalized = trail.finalized || hasFinalizer(s)
	if address := addressOf(s); w.running && (w.isPunctual() || !w.has(quirks.EchoesStatus)) && address != "" && !isTheirs(s) {
		trail.known = address
	}
}

// noteStart records the start of a daemon. A new daemon has no memory of any Service.
func (w *world) noteStart() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.happen("the daemon starts")
	w.running = true
	for _, trail := range w.services {
		trail.known, trail.served = "", false
		trail.excused = trail.excused || trail.fragile
	}
	for _, s := range w.allServices() {
		if !isTheirs(s) {
			w.services[s.UID].known = addressOf(s)
		}
	}
}

// asked counts a question about a Node. The caller holds mu.
func (w *world) asked(n *corev1.Node) { w.nodes[n.UID].asks++ }

// wrote counts a write. The caller holds mu.
func (w *world) wrote(obj runtime.Object) {
	switch o := obj.(type) {
	case *corev1.Node:
		w.nodes[o.UID].writes++
	case *corev1.Service:
		w.services[o.UID].writes++
	}
}

// checkWrite checks a patch of the daemon. The caller holds mu.
func (w *world) checkWrite(before, after runtime.Object) {
	switch now := after.(type) {
	case *corev1.Service:
		was, trail := before.(*corev1.Service), w.services[now.UID]
		for _, c := range now.Status.Conditions {
			w.reached[c.Reason] = true
		}
		if trail.foreign {
			w.broken("S4 a: %s is written, although it has another class", now.UID)
		}
		if hasFinalizer(was) && !hasFinalizer(now) && w.balance[now.UID] != nil && !trail.excused {
			w.broken("S2: the finalizer of %s is removed while the load balancer exists", now.UID)
		}
	case *corev1.Node:
		for _, c := range now.Status.Conditions {
			w.reached[c.Reason] = true
		}
		w.checkNodeWrite(before.(*corev1.Node), now)
	}
}

// isForeign reports whether the daemon's options say that the Node is not its own.
func (w *world) isForeign(n *corev1.Node) bool {
	_, disowned := w.options.claim.Disowns(n)
	return disowned
}

func isExcluded(n *corev1.Node) bool { return nodefact.HasLabel(n, ownership.LabelExclude) }

// excludedFor is the time for which a Node may still be written after its exclusion,
// because a call about it may be under way.
const excludedFor = 2 * time.Minute

func (w *world) checkNodeWrite(was, now *corev1.Node) {
	trail := w.nodes[now.UID]
	if was.Spec.ProviderID != "" && was.Spec.ProviderID != now.Spec.ProviderID {
		w.broken("S6: the provider ID of %s changes from %s to %s", now.UID, was.Spec.ProviderID, now.Spec.ProviderID)
	}
	if isExcluded(was) && !trail.excluded.IsZero() && time.Since(trail.excluded) > excludedFor && w.isPunctual() && time.Since(w.punctualSince) > excludedFor {
		w.broken("S1: %s is written, although it has been excluded since %v", now.UID, trail.excluded)
	}
	w.checkRack(was, now, trail)
	w.checkPodCIDRs(was, now)
	if !nodefact.IsUninitialized(was) || nodefact.IsUninitialized(now) {
		return
	}
	switch m := trail.machine; {
	case bare(now.Spec.ProviderID) != m.id:
		w.broken("S6: %s is released with the provider ID %q, its machine is %s", now.UID, now.Spec.ProviderID, m.id)
	case !slices.ContainsFunc(now.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP }):
		w.broken("S6: %s is released without addresses", now.UID)
	case now.Labels[rackLabel] == "" && !w.has(quirks.LabelsSometimesNil):
		w.broken("S6: %s is released without its labels", now.UID)
	}
}

// checkRack checks the label that follows the cloud: the label must never flap, and must
// never replace a user's label.
func (w *world) checkRack(was, now *corev1.Node, trail *nodeTrail) {
	before, after := was.Labels[rackLabel], now.Labels[rackLabel]
	if before == after {
		return
	}
	if before != "" && (after == "" || trail.ownRack) {
		w.broken("P1: the label of %s changes from %q to %q", now.UID, before, after)
	}
	for version := trail.machine.rack; version > 0; version-- {
		if after != rack(version) {
			continue
		}
		if version < trail.rack {
			w.broken("P1: the label of %s changes back from %q to %q", now.UID, before, after)
		}
		trail.rack = version
	}
}

// checkDeletion checks promise S1 when a Node is deleted. It does not use the code of
// the daemon's rules. The caller holds mu.
func (w *world) checkDeletion(n *corev1.Node) {
	trail := w.nodes[n.UID]
	switch {
	case trail.kind == ofOneself && !w.othersHaveIDs(n):
		// If no other Node has a provider ID, the provider may have no provider IDs
		// at all. Then this Node may be deleted.
	case trail.kind != ofCloud:
		w.broken("S1 c: %s is deleted, although it is %s", n.UID, trail.kind)
	case !trail.machine.gone:
		w.broken("S1: %s is deleted, although its machine exists", n.UID)
	case trail.machine.reporting:
		w.broken("S1 a: %s is deleted, although its kubelet reports", n.UID)
	case isExcluded(n):
		w.broken("S1: %s is deleted, although it is excluded", n.UID)
	}
}

func (w *world) othersHaveIDs(n *corev1.Node) bool {
	return slices.ContainsFunc(w.allNodes(), func(o *corev1.Node) bool { return o.UID != n.UID && o.Spec.ProviderID != "" })
}
