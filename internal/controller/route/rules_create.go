package route

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// jobFor returns the job for a CIDR, or nil if there is nothing to do. It adds the held
// removals to the plan.
func (x *index) jobFor(e *entry, p *plan) *job {
	next := job{cidr: e.cidr}
	remove := func(j judged) {
		unclaimed := !slices.ContainsFunc(e.claimants, func(n *corev1.Node) bool { return n.Name == j.route.target })
		next.remove = append(next.remove, removal{j.route, j.why, unclaimed})
	}
	for _, j := range e.routes {
		switch j.fate {
		case keep, inUse:
		case removeNow:
			remove(j)
		case stray:
			ok, until, at := x.mayRemove(j.route)
			if ok {
				remove(j)
				continue
			}
			h := held{j.route, j.why, until}
			p.held = append(p.held, h)
			if x.isStrayLongEnough(j.route) {
				p.overBudget = append(p.overBudget, h)
			}
			x.planAgain(at)
		}
	}
	if e.owner != nil && !e.isSatisfied() && e.rejection == nil && !x.disowns(e.owner) {
		next.create = &creation{node: e.owner, hint: hintFor(e.owner, e.cidr), why: whyCreated(e), replacesBlackhole: e.blackhole}
	}
	if len(next.remove) == 0 && next.create == nil {
		return nil
	}
	return &next
}

func whyCreated(e *entry) string {
	if e.blackhole {
		return "the route of its CIDR leads nowhere"
	}
	return "there is no route for its CIDR"
}

// hintFor returns the hint from which the provider can make the route's name. For the
// Node's first CIDR, the hint is the Node's UID (upstream-behaviour 5.2). For another
// CIDR, it is the UID with the address family.
func hintFor(node *corev1.Node, cidr netip.Prefix) string {
	hint := string(node.UID)
	switch first := cidrsOf(node)[0]; {
	case cidr == first:
		return hint
	case cidr.Addr().Is4():
		return hint + "-ipv4"
	default:
		return hint + "-ipv6"
	}
}

// missingReason says why an owner has no route. It returns one of a closed set of
// reasons.
func (x *index) missingReason(e *entry) string {
	failure, failed := x.memory.failures[e.cidr]
	switch {
	case x.disowns(e.owner):
		return "Excluded"
	case e.rejection != nil:
		return kindRejected
	case failed && failure.concerns(e.owner):
		return failure.kind
	case x.memory.listingFails():
		return x.memory.listingFailure.kind
	case e.blackhole:
		return kindBlackhole
	default:
		return "InProgress"
	}
}

// recheck returns the part of a job that is still necessary. The job may have waited
// for another job, and Nodes may have come and gone in the meantime. It looks up the
// current Nodes with the function nodes, which returns nil if there is no such Node.
func (j job) recheck(nodes func(name string) *corev1.Node) job {
	claimant := func(name string) *corev1.Node {
		node := nodes(name)
		if node == nil || node.DeletionTimestamp != nil || !claims(node, j.cidr) {
			return nil
		}
		return node
	}
	if j.create != nil {
		if node := claimant(j.create.node.Name); node == nil || node.UID != j.create.node.UID {
			return job{cidr: j.cidr} // The next pass plans it again.
		}
	}
	j.remove = slices.DeleteFunc(slices.Clone(j.remove), func(r removal) bool { return r.unclaimed && claimant(r.route.target) != nil })
	return j
}
