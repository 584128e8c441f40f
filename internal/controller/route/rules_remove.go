package route

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Limits restrict the creation and removal of routes, and the writing of conditions.
type Limits struct {
	// CreateOutside allows routes for CIDRs that are not strictly inside one of the
	// cluster's CIDRs.
	CreateOutside bool
	// RemoveDuplicates allows the removal of all but one of several identical routes.
	// It is off by default, because a cloud might list the routes of several tables,
	// and each table needs its own route.
	RemoveDuplicates bool
	// StrayFor is the time for which every listing must show a route as stray before
	// the route is removed.
	StrayFor time.Duration
	// BudgetRoutes and BudgetPercent limit how many routes may be stray at the same
	// time: a number of routes, and a percentage of all listed routes. The larger of
	// the two limits applies.
	BudgetRoutes, BudgetPercent int
	// OverBudgetAfter takes the place of StrayFor if more routes are stray than the
	// budget allows.
	OverBudgetAfter time.Duration
	// AdoptAfter is the time after which the condition of another writer is taken over,
	// if it keeps pods away from a Node that has its routes. 0 means never.
	AdoptAfter time.Duration
}

// DefaultLimits returns the defaults of the flags.
func DefaultLimits() Limits {
	return Limits{StrayFor: 30 * time.Second, BudgetRoutes: 3, BudgetPercent: 10, OverBudgetAfter: 10 * time.Minute}
}

// fate is the decision about a listed route. The route is removed only if its fate
// is stray or removeNow.
type fate string

const (
	keep      fate = "keep"
	inUse     fate = "in use"                     // the route that its Node needs
	stray     fate = "remove when listings agree" // promise S5 c
	removeNow fate = "remove now"                 // promise S5 a and b
)

// judged is a route with its fate.
type judged struct {
	route route
	fate  fate
	why   string
}

// judge decides the fate of each route of one CIDR.
func (x *index) judge(e *entry) {
	if e.owner != nil {
		e.rejection = x.rejectionOf(e)
	}
	var first *route
	for n := range e.routes {
		j := &e.routes[n]
		j.fate, j.why = x.fateOf(j.route, e, first)
		switch j.fate {
		case inUse:
			first, e.serving = &j.route, true
		case stray:
			since, known := x.memory.strays[j.route.identity]
			if !known {
				since = x.memory.listing.answered
			}
			x.strays[j.route.identity] = since
		case keep, removeNow:
		}
		e.blackhole = e.blackhole || j.route.blackhole
		e.outdated = e.outdated || j.fate == removeNow && e.owner != nil && j.route.target == e.owner.Name
	}
	if e.owner != nil {
		_, e.created = x.memory.created[claim{e.cidr, e.owner.UID}]
	}
}

// ownerOf returns the Node that gets the route of a CIDR. No two Nodes should claim the
// same CIDR. If two do, the Node that has a working route keeps the CIDR.
func (x *index) ownerOf(e *entry) *corev1.Node {
	slices.SortFunc(e.claimants, x.memory.byAge)
	if len(e.claimants) == 0 {
		return nil
	}
	for _, node := range e.claimants {
		if leadsTo(node, e.routes) {
			return node
		}
	}
	return e.claimants[0]
}

// fateOf returns the fate of a route, and the reason for it. Only this rule decides
// that a route may be removed (promise S5). The parameter first is the route of this
// CIDR that is already in use, or nil if there is none.
func (x *index) fateOf(r route, e *entry, first *route) (fate, string) {
	target := x.nodes[r.target]
	ofOwner := e.owner != nil && r.target == e.owner.Name
	works := ofOwner && !r.blackhole && !hasOtherAddresses(r, e.owner)
	if works && first == nil && !e.overlaps() {
		return inUse, "it leads to its node"
	}
	taken := x.takes(r, e)
	switch {
	case !x.isInside(r.cidr):
		return keep, "it is not inside the cluster's CIDRs"
	case taken != nil:
		return stray, "its CIDR overlaps with " + taken.held.String() + " of Node " + taken.holder.Name
	case x.disowns(target), x.disowns(e.owner):
		return keep, "its Node does not belong to this daemon"
	case works && (r.name == "" || r.name == first.name):
		return keep, "it cannot be distinguished from an identical route"
	case works && !x.limits.RemoveDuplicates:
		return keep, "it duplicates another route, and may be of another table"
	case works:
		return stray, "it duplicates another route"
	case r.target == "" && !r.blackhole:
		return keep, "it leads to no instance"
	case r.blackhole && (ofOwner || r.target == ""):
		return stray, "it leads nowhere"
	case ofOwner:
		return removeNow, "the addresses of Node " + r.target + " have changed"
	case target != nil && target.DeletionTimestamp == nil && claims(target, r.cidr):
		if first != nil { // It takes a part of the traffic.
			return stray, "its CIDR belongs to Node " + e.owner.Name + ", which has a route"
		}
		return keep, "Node " + r.target + " claims the CIDR, too"
	case e.owner != nil:
		return removeNow, "its CIDR now belongs to Node " + e.owner.Name
	case x.memory.wasDeleted(r, target):
		return removeNow, "Node " + r.target + " was deleted"
	case r.blackhole:
		return stray, "it leads nowhere"
	case target == nil:
		return stray, "there is no Node " + r.target
	default:
		return keep, "its target is a Node, and no Node claims its CIDR"
	}
}

// isInside reports whether one of the cluster's CIDRs contains this CIDR and is larger.
func (o *observed) isInside(cidr netip.Prefix) bool {
	return slices.ContainsFunc(o.clusters, func(cluster netip.Prefix) bool {
		return cidr.Bits() > cluster.Bits() && cluster.Contains(cidr.Addr())
	})
}

// hasOtherAddresses reports whether the addresses in the route differ from the
// Node's. A Node without addresses is not compared.
func hasOtherAddresses(r route, node *corev1.Node) bool {
	if !r.addressed || len(node.Status.Addresses) == 0 {
		return false
	}
	return len(r.addresses) != len(node.Status.Addresses) ||
		slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return !slices.Contains(r.addresses, a) })
}

// mayRemove reports whether a stray route may be removed now. If not, it also returns
// what the removal waits for, and the time of the next check.
func (x *index) mayRemove(r route) (ok bool, until string, at time.Time) {
	since := x.strays[r.identity]
	if !x.isStrayLongEnough(r) {
		return false, fmt.Sprintf("removed if this lasts for %v", x.limits.StrayFor), since.Add(x.limits.StrayFor)
	}
	if at := since.Add(x.limits.OverBudgetAfter); x.isOverBudget(len(x.strays)) && x.memory.listing.at.Before(at) {
		return false, fmt.Sprintf("%d of %d routes are stray, more than the budget of max(%d, %d %%); removed if this lasts for %v",
			len(x.strays), len(x.memory.listing.routes), x.limits.BudgetRoutes, x.limits.BudgetPercent, x.limits.OverBudgetAfter), at
	}
	return true, "", time.Time{}
}

// isStrayLongEnough reports whether all listings have shown the route as stray for
// StrayFor or longer. After that time, only the budget can keep the route.
func (x *index) isStrayLongEnough(r route) bool {
	return !x.memory.listing.at.Before(x.strays[r.identity].Add(x.limits.StrayFor))
}

// isOverBudget reports whether so many routes are stray together that the
// cloud's answer is probably wrong.
func (x *index) isOverBudget(strays int) bool {
	return strays > max(x.limits.BudgetRoutes, len(x.memory.listing.routes)*x.limits.BudgetPercent/100)
}
