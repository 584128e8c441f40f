package route

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Limits bound the removal of stray routes.
type Limits struct {
	// StrayFor is how long listings have to agree that a route is stray before
	// it is removed.
	StrayFor time.Duration
	// BudgetRoutes is how many routes may be stray together, BudgetPercent the
	// same in percent of all listed routes. The larger of the two counts.
	BudgetRoutes, BudgetPercent int
	// OverBudgetAfter is how long listings have to agree where more routes are
	// stray than the budget.
	OverBudgetAfter time.Duration
}

// DefaultLimits returns the limits that the flags have as their defaults.
func DefaultLimits() Limits {
	return Limits{StrayFor: 30 * time.Second, BudgetRoutes: 3, BudgetPercent: 10, OverBudgetAfter: 10 * time.Minute}
}

// fate is what is to become of a listed route. The zero value is the harmless
// one.
type fate int

const (
	stays  fate = iota
	serves      // it is the one that its node wants
	stray       // it goes if the next listings show the same (S5 c)
	goes        // it goes at once (S5 a and b)
)

// judged is a route with its fate.
type judged struct {
	route route
	fate  fate
	why   string
}

// judge fills an entry.
func (s *survey) judge(cidr netip.Prefix, e *entry) {
	slices.SortStableFunc(e.claimants, func(a, b *corev1.Node) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	e.owner = ownerOf(e)
	var first *route
	for n := range e.routes {
		j := &e.routes[n]
		j.fate, j.why = s.fateOf(j.route, e, first)
		switch j.fate {
		case serves:
			first, e.serving = &j.route, true
		case stray:
			since, known := s.memory.suspects[j.route.identity]
			if !known {
				since = s.listing.answered
			}
			s.suspects[j.route.identity] = since
		case stays, goes:
		}
		e.blackhole = e.blackhole || j.route.blackhole
		e.outdated = e.outdated || j.fate == goes && e.owner != nil && j.route.target == e.owner.Name
	}
	if e.owner != nil {
		e.made = s.isMade(claim{cidr, e.owner.UID})
	}
}

// ownerOf is the Node that a CIDR is routed to. Two Nodes should not claim one;
// where they do, that one keeps it which has it.
func ownerOf(e *entry) *corev1.Node {
	if len(e.claimants) == 0 {
		return nil
	}
	for _, node := range e.claimants {
		if slices.ContainsFunc(e.routes, func(j judged) bool { return j.route.target == node.Name && !j.route.blackhole }) {
			return node
		}
	}
	return e.claimants[0]
}

// fateOf is the dangerous rule: it alone says that a route may go. The ways to
// say no come first. twin is the route that serves already.
func (s *survey) fateOf(r route, e *entry, twin *route) (fate, string) {
	target := s.byName[r.target]
	mine := e.owner != nil && r.target == e.owner.Name
	usable := mine && !r.blackhole && !isOutdated(r, e.owner)
	switch {
	case usable && twin == nil:
		return serves, "it leads to its node"
	case !s.isInside(r.cidr):
		return stays, "it is not inside of the cluster's CIDRs"
	case isExcluded(target), isExcluded(e.owner):
		return stays, "its Node is labelled " + LabelExclude
	case usable && (r.name == "" || r.name == twin.name):
		return stays, "it cannot be told from the other route like it"
	case usable:
		return stray, "it is there twice"
	case r.target == "" && !r.blackhole:
		return stays, "it leads to no instance"
	case r.blackhole && (mine || r.target == ""):
		return stray, "it leads nowhere"
	case mine:
		return goes, "the addresses of Node " + r.target + " have changed"
	case target != nil && target.DeletionTimestamp == nil && claims(target, r.cidr):
		return stays, "Node " + r.target + " claims the CIDR, too"
	case e.owner != nil:
		return goes, "its CIDR now belongs to Node " + e.owner.Name
	case s.hasDeparted(r, target):
		return goes, "Node " + r.target + " was deleted"
	case r.blackhole:
		return stray, "it leads nowhere"
	case target == nil:
		return stray, "there is no Node " + r.target
	default:
		return stays, "its target is a Node, and no Node claims its CIDR"
	}
}

// isInside tells whether a CIDR is a part of one of the cluster's, and smaller.
func (o *observed) isInside(cidr netip.Prefix) bool {
	return slices.ContainsFunc(o.clusters, func(cluster netip.Prefix) bool {
		return cidr.Bits() > cluster.Bits() && cluster.Contains(cidr.Addr())
	})
}

// hasDeparted tells whether the route led to a Node whose deletion was seen. A
// Node that has its name now may keep other routes.
func (o *observed) hasDeparted(r route, target *corev1.Node) bool {
	d, seen := o.memory.departed[r.target]
	if !seen || target == nil {
		return seen
	}
	return slices.Contains(d.cidrs, r.cidr) && !claims(target, r.cidr)
}

// isOutdated tells whether a route has other addresses than its Node. A Node
// without addresses is not ready to be compared.
func isOutdated(r route, node *corev1.Node) bool {
	if !r.addressed || len(node.Status.Addresses) == 0 {
		return false
	}
	return len(r.addresses) != len(node.Status.Addresses) ||
		slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return !slices.Contains(r.addresses, a) })
}

// isExcluded reads the label as Kubernetes reads
// node.kubernetes.io/exclude-from-external-load-balancers: present excludes,
// unless the value says false.
func isExcluded(node *corev1.Node) bool {
	if node == nil {
		return false
	}
	value, ok := node.Labels[LabelExclude]
	excluded, err := strconv.ParseBool(value)
	return ok && (err != nil || excluded)
}

// mayGo says whether a stray route may be removed now; if not, why, and when to
// look again.
func (s *survey) mayGo(r route) (ok bool, why string, until time.Time) {
	since := s.suspects[r.identity]
	if !s.isRipe(r) {
		return false, fmt.Sprintf("it goes if that stays so for %v", s.limits.StrayFor), since.Add(s.limits.StrayFor)
	}
	if until := since.Add(s.limits.OverBudgetAfter); s.isOverBudget() && s.listing.at.Before(until) {
		return false, fmt.Sprintf("%d of %d routes would go together, more than max(%d, %d %%). That may be a wrong answer, so they stay until it has been so for %v",
			len(s.suspects), len(s.listing.routes), s.limits.BudgetRoutes, s.limits.BudgetPercent, s.limits.OverBudgetAfter), until
	}
	return true, "", time.Time{}
}

// isRipe tells whether a route has looked stray for so long that only a crowd
// keeps it.
func (s *survey) isRipe(r route) bool {
	return !s.listing.at.Before(s.suspects[r.identity].Add(s.limits.StrayFor))
}

// isOverBudget tells whether so many routes look stray together that the answer is
// rather wrong.
func (s *survey) isOverBudget() bool {
	return len(s.suspects) > max(s.limits.BudgetRoutes, len(s.listing.routes)*s.limits.BudgetPercent/100)
}
