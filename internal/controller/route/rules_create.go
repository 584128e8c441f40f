package route

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// jobFor returns the job for a CIDR, or nil if there is nothing to do. It adds the held
// removals to the share.
func (x *index) jobFor(cidr netip.Prefix, e *entry, s *share) *job {
	next := job{cidr: cidr}
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
			s.stray = true
			ok, until, at := x.mayRemove(j.route)
			if ok {
				remove(j)
				continue
			}
			h := held{j.route, j.why, until}
			s.held = append(s.held, h)
			if x.isStrayLongEnough(j.route) {
				s.overBudget = append(s.overBudget, h)
			}
			s.until = x.earliest(s.until, at)
		}
	}
	if e.owner != nil && !x.disowns(e.owner) && !e.isSatisfied() && e.rejection == nil {
		next.create = &creation{node: e.owner, hint: hintFor(e.owner, cidr), why: whyCreated(e), replacesBlackhole: e.blackhole}
	}
	if len(next.remove) == 0 && next.create == nil {
		return nil
	}
	return &next
}

// rejection says why no route is created for a CIDR although a Node claims it
// (promise S5 d). The CIDR has to be checked because a kubelet can write any CIDR
// into its own Node.
type rejection struct {
	// The rejected CIDR overlaps with another Node's CIDR. The field holder has that
	// Node, and the field held has its CIDR. If holder is nil, the rejected CIDR is not
	// inside the cluster's CIDRs.
	holder *corev1.Node
	held   netip.Prefix
}

// rejectionOf returns the rejection of a CIDR, or nil if the CIDR can get a route.
func (x *index) rejectionOf(cidr netip.Prefix, owner *corev1.Node) *rejection {
	if !x.limits.CreateOutside && !x.isInside(cidr) {
		return &rejection{}
	}
	for _, held := range x.table.overlaps(cidr) {
		e := x.entries[held]
		if e == nil || e.owner == nil || e.owner == owner || x.disowns(e.owner) || !x.limits.CreateOutside && !x.isInside(held) {
			continue // It gets no route itself.
		}
		if x.table.precedes(held, e.owner, cidr, owner) {
			return &rejection{e.owner, held}
		}
	}
	return nil
}

// precedes reports whether, of two Nodes whose CIDRs overlap, the first one gets its
// route. It is the Node whose CIDR has a length that is common among the Nodes, because
// such a CIDR was assigned. Otherwise a kubelet could write a part of another Node's CIDR,
// and its more specific route would take the traffic of that Node's pods, or a CIDR that
// contains those of many Nodes. Of CIDRs that are alike in this, the older Node's counts.
func (t *table) precedes(a netip.Prefix, nodeA *corev1.Node, b netip.Prefix, nodeB *corev1.Node) bool {
	if isCommon := t.isCommon(a); isCommon != t.isCommon(b) {
		return isCommon
	}
	return byAge(nodeA, nodeB) < 0
}

// byAge compares the ages of two Nodes. The older one comes first.
func byAge(a, b *corev1.Node) int {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

// count has the number of CIDRs of one length that Nodes claim, and how many of them lie
// inside the cluster's CIDRs.
type count struct{ all, inside int }

// commonLengths says for each length of a family's CIDRs whether it is common: inside the
// cluster's CIDRs at least two Nodes have it, or it is the only one.
func commonLengths(counts map[int]count) map[int]bool {
	most, next := 0, 0 // the two largest numbers
	for _, n := range counts {
		most, next = max(most, n.inside), max(next, min(most, n.inside))
	}
	common := map[int]bool{}
	for bits, n := range counts {
		if n.all > 0 {
			common[bits] = n.inside > 1 || n.inside > next
		}
	}
	return common
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
func (x *index) missingReason(cidr netip.Prefix, e *entry) string {
	failure, failed := x.memory.failures[cidr]
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
