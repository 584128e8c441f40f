package walks_test

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/node"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
	"github.com/fairlead-k8s/fairlead/test/quirks"
)

const (
	// followsWithin is the time for which backends may lag behind the Nodes once
	// the cloud works. It covers the longest delay of a retry and the time of some
	// calls.
	followsWithin = 7 * time.Minute
	// followsWithinThrottled is the same limit for the quirk ThrottlesInside. With that
	// quirk, a call takes three minutes, and there is only one worker.
	followsWithinThrottled = 30 * time.Minute
	// settlesWithin is the time within which everything has to be in order. It is
	// long enough for the pause after failed questions about a Node, and for the
	// deletion of many Nodes over the budget.
	settlesWithin = 45 * time.Minute
	// shownWithin is the same with a watch. All Nodes are compared every half an hour then,
	// and a Node shows that the cloud does not know it after three comparisons.
	shownWithin = 100 * time.Minute
	idleFor     = time.Hour
)

// rests ends the faults: it makes the cloud and the API server work again. In some paths,
// a webhook still fails for each write of a Service. Afterwards, the function checks the
// promises that hold while the cloud works.
func (w *world) rests() {
	stubborn := w.r.IntN(3) == 0
	w.locked(func() {
		w.happen("the cloud works again, a webhook fails for Services: %v", stubborn)
		w.weather, w.refusal = fair, accepts
		w.becomesPunctual()
		if stubborn {
			w.refusal = refusal{resource: "services", err: failing}
		}
		w.calmDown()
	})
	if w.stop == nil {
		w.start()
	}
	within := followsWithin
	if w.has(quirks.ThrottlesInside) {
		within = followsWithinThrottled
	}
	w.after(within)
	w.checkBackends()
	w.after(settlesWithin - within)
	w.checkBackends()
	w.locked(func() {
		w.checkNodes()
		w.checkPods()
		if !stubborn {
			w.checkVisible()
		}
	})
}

// ends waits until everything has settled, and checks that nothing happens
// afterwards.
func (w *world) ends() {
	if w.stop == nil {
		w.start()
	}
	w.locked(func() {
		w.happen("all is well")
		w.weather, w.refusal = fair, accepts
		w.becomesPunctual()
		w.calmDown()
		w.corrected()
		for _, n := range w.allNodes() {
			if trail := w.nodes[n.UID]; trail.machine.gone && trail.machine.reporting {
				trail.reports(n, false)
				w.store(n)
			}
		}
		for _, s := range w.allServices() {
			if _, chooses := s.Annotations[service.AnnotationBackends]; chooses || isBroken(s) {
				delete(s.Annotations, service.AnnotationBackends)
				delete(s.Annotations, "size")
				w.store(s)
			}
		}
	})
	within := settlesWithin
	if w.hints.watches {
		within = shownWithin
	}
	w.after(within)
	w.checkBackends()
	w.locked(func() {
		w.checkNodes()
		w.checkPods()
		w.checkServices()
		w.checkBounds()
	})
	before := w.counts()
	w.after(idleFor)
	now := w.counts()
	w.locked(func() {
		for uid, n := range now {
			if n != before[uid] {
				w.broken("P1: %s has %+v, and %+v after a while in which nothing has happened", uid, before[uid], n)
			}
		}
	})
}

// count has the numbers of calls, writes and events about an object.
type count struct{ calls, writes, events int }

// counts returns a count for each object for which the daemon should have no more work.
func (w *world) counts() map[string]count {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]count{}
	for _, s := range w.allServices() {
		if trail := w.services[s.UID]; !w.panics(s.Name) && !isTheirs(s) && !trail.given {
			all[string(s.UID)] = count{trail.calls, trail.writes, len(trail.events)}
		}
	}
	for _, n := range w.allNodes() {
		if trail := w.nodes[n.UID]; !w.panics(n.Name) && (trail.kind != ofCloud || !trail.machine.gone) {
			all[string(n.UID)] = count{writes: trail.writes, events: len(trail.events)}
		}
	}
	return all
}

func (w *world) panics(name string) bool { return name == odd && w.has(quirks.PanicsFor(odd)) }

// isServed reports whether the Service gets a load balancer from the daemon.
func isServed(s *corev1.Service) bool {
	return !isTheirs(s) && s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.DeletionTimestamp == nil
}

// checkBackends checks the load balancers whose addresses the Services show: each must
// have the newest set of Nodes. A Node may have joined or left a moment ago, so the
// check is repeated a few times.
func (w *world) checkBackends() {
	for range 5 {
		late := ""
		w.locked(func() { late = w.lateBackends() })
		if late == "" {
			return
		}
		w.after(20 * time.Second)
	}
	w.locked(func() { w.broken("S3: %s", w.lateBackends()) })
}

// lateBackends describes a load balancer that should have the newest set of Nodes, but
// does not. It returns "" if there is none. The caller holds mu.
func (w *world) lateBackends() string {
	var want []string
	for _, n := range w.allNodes() {
		if !nodefact.IsUninitialized(n) && !nodefact.HasLabel(n, corev1.LabelNodeExcludeBalancers) {
			want = append(want, n.Name)
		}
	}
	slices.Sort(want)
	for _, s := range w.allServices() {
		lb := w.balance[s.UID]
		if lb == nil || !isServed(s) || !hasFinalizer(s) || addressOf(s) == "" || w.panics(s.Name) {
			continue
		}
		if !slices.Equal(lb.backends, want) {
			return fmt.Sprintf("%s has the backends %v, want %v", s.UID, lb.backends, want)
		}
	}
	return ""
}

// checkServices checks each Service. It also checks that no load balancer is left
// behind. The caller holds mu.
func (w *world) checkServices() {
	for _, s := range w.allServices() {
		lb, trail := w.balance[s.UID], w.services[s.UID]
		switch {
		case w.panics(s.Name) || isTheirs(s):
		case trail.given && !isServed(s): // Nothing shows any more whose load balancer this is.
		case trail.tampered && w.has(quirks.EchoesStatus) && addressOf(s) == "": // Only the provider knows the address.
		case isServed(s):
			switch {
			case lb == nil || lb.port != s.Spec.Ports[0].Port || addressOf(s) != lb.address || !hasFinalizer(s):
				w.broken("settled: %s has the load balancer %+v, the address %s and the finalizers %v", s.UID, lb, addressOf(s), s.Finalizers)
			case conditionOf(s, service.ConditionProvisioning) != "False":
				w.broken("settled: %s shows %+v", s.UID, s.Status.Conditions)
			}
		case hasFinalizer(s), addressOf(s) != "", len(s.Status.Conditions) > 0:
			w.broken("settled: %s is left with %v, %+v", s.UID, s.Finalizers, s.Status)
		case s.DeletionTimestamp != nil && !trail.tampered:
			w.broken("settled: %s is still there", s.UID)
		}
	}
	for uid, lb := range w.balance {
		trail := w.services[uid]
		if s := w.service(trail.name); (s == nil || s.UID != uid || !isServed(s)) && !trail.excused && !w.panics(trail.name) {
			w.broken("S2: the load balancer %s of %s is left behind", lb.address, uid)
		}
	}
}

func conditionOf(s *corev1.Service, kind string) string {
	for _, c := range s.Status.Conditions {
		if c.Type == kind {
			return string(c.Status)
		}
	}
	return ""
}

// checkVisible checks each Service that the cloud refuses, and each Node that is not
// initialised. A condition of each must show that it waits. The caller holds mu.
func (w *world) checkVisible() {
	for _, s := range w.allServices() {
		if isServed(s) && isBroken(s) && conditionOf(s, service.ConditionProvisioning) != "True" {
			w.broken("V1: %s waits and shows %+v", s.UID, s.Status.Conditions)
		}
	}
	for _, n := range w.allNodes() {
		c := nodefact.Condition(n, node.ConditionInitialized)
		if waits := nodefact.IsUninitialized(n) && !isExcluded(n) && !w.isForeign(n); waits && (c == nil || c.Status != corev1.ConditionFalse || c.Message == "") {
			w.broken("V1: %s waits and shows %+v", n.UID, c)
		}
	}
}

// checkNodes checks each Node of the cloud. The caller holds mu.
func (w *world) checkNodes() {
	for _, n := range w.allNodes() {
		trail := w.nodes[n.UID]
		m := trail.machine
		switch {
		case trail.kind != ofCloud || isExcluded(n) || w.panics(n.Name):
		case m.gone:
			if !m.reporting && w.canBeDeleted(n) {
				w.broken("settled: %s is still there, its machine is gone: %+v", n.UID, n.Status.Conditions)
			}
		case w.isFlawed(n):
		case nodefact.IsUninitialized(n):
			w.broken("settled: %s is not initialised: %+v", n.UID, n.Status.Conditions)
		case len(n.Status.Addresses) == 0 || n.Status.Addresses[0].Address != m.address && !w.mayMiss(quirks.AddressesSometimesGone):
			w.broken("settled: %s has the addresses %v, its machine has %s", n.UID, n.Status.Addresses, m.address)
		case !trail.ownRack && n.Labels[rackLabel] != rack(m.rack) && !w.mayBeOld(n.Labels[rackLabel], m):
			w.broken("settled: %s has the labels %v, its machine has %s", n.UID, n.Labels, rack(m.rack))
		case nodefact.HasTaint(n, api.TaintNodeShutdown) != (m.down && !m.reporting):
			w.broken("settled: %s has the taints %v, its machine is stopped: %v", n.UID, n.Spec.Taints, m.down)
		}
	}
}

// mayMiss reports whether each periodic comparison may by chance get an answer that this
// quirk has made incomplete. It does this with every second answer, and a list or a watch
// causes additional questions. Then the Node keeps for hours what it had before.
func (w *world) mayMiss(habit quirks.Quirk) bool {
	return w.has(habit) && (w.hints.lists || w.hints.watches)
}

// mayBeOld reports whether the Node may have this label because its machine had the label
// earlier, or none.
func (w *world) mayBeOld(label string, m *machine) bool {
	if !w.mayMiss(quirks.LabelsSometimesNil) {
		return false
	}
	for version := range m.rack {
		if label == "" || label == rack(version) {
			return true
		}
	}
	return false
}

// canBeDeleted reports whether the Node has a witness in its region, and no other
// Node contradicts the cloud. A Node that was never initialised has no region.
func (w *world) canBeDeleted(n *corev1.Node) bool {
	if w.options.keeps || w.has(quirks.GoneIsAnError) || w.has(quirks.GoneIsNotFound) && n.Spec.ProviderID == "" {
		return false
	}
	witnesses := 0
	for _, o := range w.allNodes() {
		trail := w.nodes[o.UID]
		switch m := trail.machine; {
		case o.UID == n.UID || !m.reporting || isExcluded(o), trail.kind == ofCloud && !m.answers():
		case w.panics(o.Name), trail.kind == ofCloud && m.gone, trail.kind != ofCloud && n.Spec.ProviderID == "":
			return false
		case trail.kind == ofCloud && (o.Spec.ProviderID != "" || n.Spec.ProviderID == "") && !nodefact.IsUninitialized(o) && o.Labels[corev1.LabelTopologyRegion] == n.Labels[corev1.LabelTopologyRegion]:
			witnesses++
		}
	}
	return witnesses > 0
}

// checkBounds checks that the numbers of calls, writes and events about each object
// stay within bounds. The bounds grow with the time and with the steps of the path.
// The caller holds mu.
func (w *world) checkBounds() {
	minutes, happened := int(time.Since(w.began)/time.Minute), w.steps
	for uid, trail := range w.services {
		if most := 20 + 8*trail.changes + 3*happened + minutes; trail.calls > most {
			w.broken("P2: %d calls about %s, want at most %d", trail.calls, uid, most)
		}
		if most := 20 + 10*trail.changes + 3*happened + 2*minutes; trail.writes > most {
			w.broken("P2: %d writes of %s, want at most %d", trail.writes, uid, most)
		}
		if most := 10 + 8*trail.changes + 2*happened + minutes/5; len(trail.events) > most {
			w.broken("V1: %d events on %s, want at most %d: %v", len(trail.events), uid, most, trail.events)
		}
	}
	for uid, trail := range w.nodes {
		if most := 40 + 30*trail.changes + 5*happened + 3*minutes; trail.asks > most {
			w.broken("P2: %d questions about %s, want at most %d", trail.asks, uid, most)
		}
		if most := 60 + 20*trail.changes + 4*happened + 4*minutes; trail.writes > most {
			w.broken("P2: %d writes of %s, want at most %d", trail.writes, uid, most)
		}
		if most := 10 + 6*trail.changes + happened + minutes/5; len(trail.events) > most {
			w.broken("V1: %d events on %s, want at most %d: %v", len(trail.events), uid, most, trail.events)
		}
	}
}
