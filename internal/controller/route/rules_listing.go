package route

import (
	"maps"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// listingLag is the time for which this process trusts its own change more than a
	// listing that does not show the change. Many clouds list a change late.
	listingLag = 30 * time.Second
	// keepDeleted is the shortest time for which a deleted Node is remembered,
	// because a listing may still show its route.
	keepDeleted = 10 * time.Minute
)

// listing is the newest list of routes from the cloud. The zero value means that the
// cloud has listed nothing yet.
type listing struct {
	at       time.Time // when the call began; the routes can be as old as that
	answered time.Time
	routes   []route
}

// answer is the outcome of one call that lists the routes.
type answer struct {
	began, ended time.Time
	// next is the time of the next regular listing.
	next   time.Time
	routes []route
	failed *failure // nil: the cloud has answered
	// underWay means that the call may not have returned yet. In that case, the next
	// call gets the answer of this call.
	underWay bool
}

// deletedNode is a Node whose deletion was seen.
type deletedNode struct {
	at    time.Time
	cidrs []netip.Prefix
}

// needsListing returns the reason why the routes have to be listed before anything is
// decided. It returns the empty string if no listing is needed.
func needsListing(o observed) string {
	m := &o.memory
	switch {
	case m.listingFails() && o.now.Before(m.listingFailure.until):
		return ""
	case m.listingFails():
		return "the last listing has failed"
	case m.listing.at.IsZero():
		return "the routes are not known yet"
	case !o.now.Before(m.nextListing):
		return "the regular check"
	}
	for _, d := range m.deleted {
		// A route to the deleted Node may have been created after the listing began.
		// The listing may lack such a route.
		if m.listing.at.Before(d.at) && !d.at.After(o.changed) {
			return "a Node was deleted since the routes were listed"
		}
	}
	for _, since := range m.strays {
		for _, after := range []time.Duration{o.limits.StrayFor, o.limits.OverBudgetAfter} {
			if due := since.Add(after); m.listing.at.Before(due) && !o.now.Before(due) {
				return "stray routes are checked again"
			}
		}
	}
	return ""
}

// untilListing returns the time until the next listing if nothing changes.
func untilListing(o observed) time.Duration {
	if o.memory.listingFails() {
		return o.memory.listingFailure.until.Sub(o.now)
	}
	return o.memory.nextListing.Sub(o.now)
}

// listingFails reports whether the last listing has failed.
func (m *memory) listingFails() bool { return m.listingFailure.count > 0 }

// listed stores the result of a listing in the memory, and deletes the entries that
// the listing makes obsolete.
func (m *memory) listed(a answer) {
	began := a.began
	if !m.listingSince.IsZero() {
		began = m.listingSince
	}
	m.listingSince = time.Time{}
	if a.failed != nil {
		if a.underWay {
			m.listingSince = began
		}
		m.listingFailure = m.listingFailure.next(a.ended, *a.failed)
		return
	}
	m.listing = listing{at: began, answered: a.ended, routes: a.routes}
	m.listingFailure, m.nextListing = failure{}, a.next
	maps.DeleteFunc(m.created, func(_ claim, at time.Time) bool { return m.mustShow(at) })
	maps.DeleteFunc(m.removed, func(_ identity, at time.Time) bool { return m.mustShow(at) })
	targets := map[string]bool{}
	for _, r := range a.routes {
		targets[r.target] = true
	}
	maps.DeleteFunc(m.deleted, func(name string, d deletedNode) bool { return began.Sub(d.at) > keepDeleted && !targets[name] })
}

// mustShow reports whether the listing has to show a change that was made at this time.
func (m *memory) mustShow(at time.Time) bool { return !m.listing.at.Before(at.Add(listingLag)) }

// nodeDeleted records in the memory that a Node was deleted.
func (m *memory) nodeDeleted(node *corev1.Node, now time.Time) {
	m.deleted[node.Name] = deletedNode{at: now, cidrs: append(m.deleted[node.Name].cidrs, cidrsOf(node)...)}
	delete(m.given, node.UID)
	delete(m.patched, node.UID)
	delete(m.foreign, node.UID)
	for _, cidr := range append(cidrsOf(node), netip.Prefix{}) { // the zero CIDR stands for the condition of the Node
		delete(m.recorded, claim{cidr, node.UID})
	}
}

// nodeChanged records in the memory that a Node has got its CIDRs. Later they cannot change.
func (m *memory) nodeChanged(before, now *corev1.Node, at time.Time) {
	if before.UID == now.UID && len(before.Spec.PodCIDRs) == 0 && len(now.Spec.PodCIDRs) > 0 {
		m.given[now.UID] = at
	}
}

// wasDeleted reports whether the route led to a Node whose deletion was seen. If a new
// Node has the same name, wasDeleted returns true only for a CIDR that the deleted Node
// had and that the new Node does not claim.
func (m *memory) wasDeleted(r route, target *corev1.Node) bool {
	d, seen := m.deleted[r.target]
	if !seen || target == nil {
		return seen
	}
	return slices.Contains(d.cidrs, r.cidr) && !claims(target, r.cidr)
}
