package route

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

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
		if e == nil || e.owner == nil || e.owner == owner || !x.limits.CreateOutside && !x.isInside(held) {
			continue // It gets no route itself.
		}
		if x.disowns(e.owner) && !leadsTo(e.owner, e.routes) {
			continue // No route is made for it, and nobody else has made one.
		}
		if x.table.precedes(held, e.owner, cidr, owner) {
			return &rejection{e.owner, held}
		}
	}
	return nil
}

// takes returns the rejection of a route that takes the traffic of another Node's CIDR, or
// nil. The CIDR of the route is rejected, or no Node claims it and it is a part of one that
// a Node claims. A Node can lose its claim and keep the route: it is being deleted, and its
// kubelet has added a finalizer, or it was deleted and came back while no daemon ran.
func (x *index) takes(r route, e *entry) *rejection {
	target := x.node(r.target)
	switch {
	case target == nil || x.isSetAside(target):
		return nil
	case e.owner != nil && r.target == e.owner.Name && e.overlaps():
		return e.rejection
	case e.owner != nil:
		return nil
	}
	for _, whole := range x.table.wholesOf(r.cidr) {
		held := x.entries[whole]
		if held != nil && held.owner != nil && held.owner != target && !x.disowns(held.owner) && x.table.isCommon(whole) {
			return &rejection{held.owner, whole}
		}
	}
	return nil
}

// isSetAside reports whether an operator has set the Node aside, with a label that its
// kubelet cannot write. With other labels, a kubelet could keep a route that takes the
// traffic of another Node.
func (x *index) isSetAside(node *corev1.Node) bool {
	_, byOperator := ownership.Claim{RestrictedLabels: true}.Disowns(node)
	return byOperator && x.disowns(node)
}

// leadsTo reports whether one of the routes leads to the Node.
func leadsTo(node *corev1.Node, routes []judged) bool {
	return slices.ContainsFunc(routes, func(j judged) bool { return j.route.target == node.Name && !j.route.blackhole })
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
// cluster's CIDRs at least two Nodes have it, or there is only one Node.
func commonLengths(counts map[int]count) map[int]bool {
	total := 0
	for _, n := range counts {
		total += n.inside
	}
	common := map[int]bool{}
	for bits, n := range counts {
		if n.all > 0 {
			common[bits] = n.inside > 1 || n.inside == total
		}
	}
	return common
}

func (t *table) commonLengths() map[bool]map[int]bool {
	return map[bool]map[int]bool{true: commonLengths(t.lengths[true]), false: commonLengths(t.lengths[false])}
}

// isCommon reports whether the length of the CIDR is common.
func (t *table) isCommon(cidr netip.Prefix) bool { return t.common[cidr.Addr().Is4()][cidr.Bits()] }

// wholesOf returns the CIDRs of the claimed lengths that contain this smaller CIDR.
func (t *table) wholesOf(cidr netip.Prefix) (wholes []netip.Prefix) {
	for bits := range t.common[cidr.Addr().Is4()] {
		if bits < cidr.Bits() {
			wholes = append(wholes, netip.PrefixFrom(cidr.Addr(), bits).Masked())
		}
	}
	return wholes
}

// overlaps returns the CIDRs that overlap with this one, and that Nodes claim or have
// claimed, or that have routes. CIDRs overlap only if one contains the other.
func (t *table) overlaps(cidr netip.Prefix) []netip.Prefix {
	all := slices.DeleteFunc(t.wholesOf(cidr), func(whole netip.Prefix) bool { return t.claimants[whole] == nil })
	all = slices.AppendSeq(all, maps.Keys(t.parts[cidr]))
	slices.SortFunc(all, netip.Prefix.Compare)
	return all
}

// claim updates lengths and parts for a CIDR. n is 1 if the CIDR has got its first
// claimant, and -1 if it has lost its last one.
func (t *table) claim(o *observed, cidr netip.Prefix, n int) {
	counted := t.lengths[cidr.Addr().Is4()]
	c := counted[cidr.Bits()]
	c.all += n
	if o.isInside(cidr) {
		c.inside += n
	}
	counted[cidr.Bits()] = c
	if n > 0 {
		t.addPart(cidr)
	}
}

func (t *table) addPart(cidr netip.Prefix) {
	for _, whole := range t.wholesOf(cidr) {
		if t.parts[whole] == nil {
			t.parts[whole] = map[netip.Prefix]bool{}
		}
		t.parts[whole][cidr] = true
	}
}

// findParts finds the parts of all CIDRs from scratch.
func (t *table) findParts() {
	clear(t.parts)
	for cidr := range t.claimants {
		t.addPart(cidr)
	}
	for cidr := range t.routes {
		t.addPart(cidr)
	}
}
