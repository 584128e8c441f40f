package route

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

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

// rejectionOf returns the rejection of the CIDR of an entry, or nil if the CIDR can get a
// route.
func (x *index) rejectionOf(e *entry) *rejection {
	if !x.mayHaveRoute(e.cidr) {
		return &rejection{}
	}
	for _, others := range [][]*entry{e.wholes, e.parts} {
		for _, held := range others {
			switch {
			case held.owner == nil, held.owner == e.owner, !x.mayHaveRoute(held.cidr), !x.precedes(held, e):
			case !leadsTo(held.owner, held.routes) && x.disowns(held.owner):
				// No route is made for it, and nobody else has made one.
			default:
				return &rejection{held.owner, held.cidr}
			}
		}
	}
	return nil
}

// mayHaveRoute reports whether a route may be created for a CIDR, if it overlaps with no
// other.
func (x *index) mayHaveRoute(cidr netip.Prefix) bool {
	return x.limits.CreateOutside || x.isInside(cidr)
}

// takes returns the rejection of a route that takes the traffic of another Node's CIDR, or
// nil. The CIDR of the route is rejected, or no Node claims it and it is a part of one that
// a Node claims. A Node can lose its claim and keep the route: it is being deleted, and its
// kubelet has added a finalizer, or it was deleted and came back while no daemon ran.
func (x *index) takes(r route, e *entry) *rejection {
	target := x.nodes[r.target]
	switch {
	case target == nil || x.isSetAside(target):
		return nil
	case e.owner != nil && r.target == e.owner.Name && e.overlaps():
		return e.rejection
	case e.owner != nil && (!x.disowns(e.owner) || x.isSetAside(e.owner)):
		return nil // Its owner gets it, unless it has hidden itself.
	}
	for _, held := range e.wholes {
		if held.owner != nil && held.owner != target && !x.disowns(held.owner) && x.isCommon(held.cidr) {
			return &rejection{held.owner, held.cidr}
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

// precedes reports whether, of two entries that overlap, the owner of the first one gets
// its route. It is the Node whose CIDR has a length that is common among the Nodes, because
// such a CIDR was assigned. Otherwise a kubelet could write a part of another Node's CIDR,
// and its more specific route would take the traffic of that Node's pods, or a CIDR that
// contains those of many Nodes. Two kubelets can make a length common. So of CIDRs that are
// alike in this, the one that has a route counts, and otherwise the one that a Node has had
// for longer.
func (x *index) precedes(a, b *entry) bool {
	if isCommon := x.isCommon(a.cidr); isCommon != x.isCommon(b.cidr) {
		return isCommon
	}
	if leads := leadsTo(a.owner, a.routes); leads != leadsTo(b.owner, b.routes) {
		return leads
	}
	return x.memory.byAge(a.owner, b.owner) < 0
}

// byAge compares the times for which two Nodes have had their CIDRs. The Node that has had
// them for longer comes first.
func (m *memory) byAge(a, b *corev1.Node) int {
	return cmp.Or(m.since(a).Compare(m.since(b)), cmp.Compare(a.Name, b.Name))
}

// since returns the time since which a Node has its CIDRs, as far as this process knows. A
// kubelet can register its Node without CIDRs, and write later those that another Node was
// given.
func (m *memory) since(node *corev1.Node) time.Time {
	if given, seen := m.given[node.UID]; seen {
		return given
	}
	return node.CreationTimestamp.Time
}

// length is the length of a CIDR of one family.
type length struct {
	is4  bool
	bits int
}

func lengthOf(cidr netip.Prefix) length { return length{cidr.Addr().Is4(), cidr.Bits()} }

// commonLengths returns the lengths that are common: at least two of the CIDRs that Nodes
// claim inside the cluster's CIDRs have it, or all of the family's.
func (x *index) commonLengths() map[length]bool {
	counts, total := map[length]int{}, map[bool]int{} // by family
	for _, e := range x.sorted {
		if len(e.claimants) > 0 && x.isInside(e.cidr) {
			counts[lengthOf(e.cidr)]++
			total[e.cidr.Addr().Is4()]++
		}
	}
	common := map[length]bool{}
	for l, n := range counts {
		common[l] = n > 1 || n == total[l.is4]
	}
	return common
}

// isCommon reports whether the length of the CIDR is common.
func (x *index) isCommon(cidr netip.Prefix) bool { return x.common[lengthOf(cidr)] }
