package route

import (
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// index joins the Nodes and the listed routes by CIDR.
type index struct {
	observed
	nodes   map[string]*corev1.Node // by name
	entries map[netip.Prefix]*entry
	// sorted has the entries in the order of their CIDRs. So an entry comes after all
	// entries that contain it, and directly before its parts.
	sorted []*entry
	// common has the lengths of the claimed CIDRs that are common.
	common map[length]bool
	// strays has the stray routes of the table, each with the time of the answer that
	// first showed it as stray.
	strays     map[identity]time.Time
	unreadable int // routes whose destination is not a CIDR
	// targets has the names of the Nodes to which a listed route leads.
	targets map[string]bool
	// next is the latest time at which the table is planned again.
	next time.Time
}

// entry has the known facts about one CIDR.
type entry struct {
	cidr      netip.Prefix
	claimants []*corev1.Node // the one with the oldest claim first
	owner     *corev1.Node   // the claimant that gets the route; nil if there is none
	rejection *rejection     // why the owner gets no route; nil if it gets one
	routes    []judged
	serving   bool // a listed route leads to the owner
	created   bool // this process has created the route a short time ago
	blackhole bool // a listed route leads nowhere
	outdated  bool // a listed route leads to the owner with other addresses

	wholes []*entry // the entries whose CIDRs contain this one, the widest first
	parts  []*entry // the entries whose CIDRs this one contains
}

// newIndex joins all Nodes and all listed routes, and decides the fate of each route.
func newIndex(o observed) *index {
	size := max(len(o.nodes), len(o.memory.listing.routes))
	x := &index{
		observed: o, nodes: make(map[string]*corev1.Node, len(o.nodes)), entries: make(map[netip.Prefix]*entry, size),
		strays: map[identity]time.Time{}, targets: make(map[string]bool, size), next: o.now.Add(untilListing(o)),
	}
	for _, node := range o.nodes {
		x.nodes[node.Name] = node
		if node.DeletionTimestamp != nil {
			continue // It claims nothing.
		}
		for _, cidr := range cidrsOf(node) {
			if e := x.entry(cidr); !slices.Contains(e.claimants, node) { // A Node can have a CIDR twice.
				e.claimants = append(e.claimants, node)
			}
		}
	}
	for _, r := range o.memory.listing.routes {
		x.targets[r.target] = true
		_, removed := o.memory.removed[r.identity]
		switch {
		case !r.cidr.IsValid():
			x.unreadable++
		case !removed:
			e := x.entry(r.cidr)
			e.routes = append(e.routes, judged{route: r})
		}
	}
	x.sort()
	x.common = x.commonLengths()
	for _, e := range x.sorted {
		e.owner = x.ownerOf(e)
	}
	for _, e := range x.sorted {
		x.judge(e)
	}
	return x
}

// entry returns the entry of a CIDR. It makes the entry if there is none.
func (x *index) entry(cidr netip.Prefix) *entry {
	e := x.entries[cidr]
	if e == nil {
		e = &entry{cidr: cidr}
		x.entries[cidr] = e
		x.sorted = append(x.sorted, e)
	}
	return e
}

// sort sorts the entries, and finds those that overlap. CIDRs overlap only if one
// contains the other.
func (x *index) sort() {
	slices.SortFunc(x.sorted, func(a, b *entry) int { return a.cidr.Compare(b.cidr) })
	type open struct {
		*entry
		first int // the place of its first part
	}
	var wholes []open // those that contain the entry before
	for i, e := range x.sorted {
		for len(wholes) > 0 && !wholes[len(wholes)-1].cidr.Overlaps(e.cidr) {
			wholes = wholes[:len(wholes)-1]
		}
		for _, whole := range wholes {
			e.wholes = append(e.wholes, whole.entry)
			whole.parts = x.sorted[whole.first : i+1]
		}
		wholes = append(wholes, open{e, i + 1})
	}
}

// planAgain has the table planned again at this time at the latest. A time that is zero
// or not in the future does not count.
func (x *index) planAgain(at time.Time) {
	if at.After(x.now) && at.Before(x.next) {
		x.next = at
	}
}

// isSatisfied reports whether the owner has its route. A route that was created a
// moment ago counts, because the cloud may list it late. It does not count if a listed
// route for the CIDR is a blackhole, or leads to the owner with other addresses.
func (e *entry) isSatisfied() bool { return e.serving || e.created && !e.blackhole && !e.outdated }

// overlaps reports whether the CIDR of the entry overlaps with another Node's, which
// keeps its route.
func (e *entry) overlaps() bool { return e.rejection != nil && e.rejection.holder != nil }
