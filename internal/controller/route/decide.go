package route

import (
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// route is an entry of the cloud's table.
type route struct {
	identity
	// cidr is the zero value if the destination is not a CIDR.
	cidr      netip.Prefix
	blackhole bool
	addresses []corev1.NodeAddress
	addressed bool // the provider keeps the Node's addresses in the route
}

// identity distinguishes a route from all others.
type identity struct{ name, target, destination string }

// claim is a CIDR of a Node.
type claim struct {
	cidr netip.Prefix
	node types.UID
}

// observed has everything that a decision may use.
type observed struct {
	now      time.Time
	clusters []netip.Prefix
	nodes    []*corev1.Node
	// changed is when a Node last changed in a way that routes depend on.
	changed time.Time
	memory  memory
	limits  Limits
	claim   ownership.Claim
}

// action is what a pass does about the table.
type action string

const (
	// listRoutes asks the cloud for its routes, and decides again.
	listRoutes action = "list the routes"
	// changeRoutes carries out the other fields of the plan.
	changeRoutes action = "change the routes"
)

// plan is what to do about the whole table.
type plan struct {
	do  action
	why string

	jobs []job
	held []held
	// overBudget are the routes in held that only the budget keeps.
	overBudget []held
	patches    []conditionPatch
	events     []nodeEvent
	// strays replaces the memory's field of that name. resolved are the CIDRs
	// whose failures are over.
	strays   map[identity]time.Time
	resolved []netip.Prefix
	counts   counts
	// after is when to decide again at the latest.
	after time.Duration
}

// job is what to do for one CIDR: removals, then a creation.
type job struct {
	cidr   netip.Prefix
	remove []removal
	create *creation
}

type removal struct {
	route route
	why   string
	// unclaimed means that the route's target does not claim the CIDR. If the
	// target claims it when the job is carried out, the route is not removed.
	unclaimed bool
}

type creation struct {
	node *corev1.Node
	hint string
	why  string
	// replacesBlackhole means that the cloud has listed a blackhole for this CIDR.
	// The new route counts only when a listing shows that it works.
	replacesBlackhole bool
}

// held is a stray route that is not removed yet.
type held struct {
	route route
	why   string // says why it is stray
	until string // says what its removal waits for
}

// counts is the table in numbers.
type counts struct {
	wanted, present int
	missing         map[string]int // by reason
	unreadable      int            // destinations that are no CIDR
}

// decide plans the whole table.
func decide(o observed) plan {
	if why := needsListing(o); why != "" {
		return plan{do: listRoutes, why: why}
	}
	x := newIndex(o)
	p := plan{
		do: changeRoutes, why: "the routes are known", strays: x.strays, after: untilListing(o), counts: counts{missing: map[string]int{}},
	}
	for _, cidr := range x.cidrs {
		x.planCIDR(&p, cidr)
		if p.do == listRoutes {
			return p
		}
	}
	for cidr := range o.memory.failures {
		if _, known := x.entries[cidr]; !known {
			p.resolved = append(p.resolved, cidr) // No Node claims it, and no route is left.
		}
	}
	for _, r := range o.memory.listing.routes {
		if !r.cidr.IsValid() {
			p.counts.unreadable++
		}
	}
	x.planConditions(&p)
	return p
}

// planCIDR plans what to do for one CIDR.
func (x *index) planCIDR(p *plan, cidr netip.Prefix) {
	e := x.entries[cidr]
	if e.owner != nil {
		p.counts.wanted++
		if e.isSatisfied() {
			p.counts.present++
		} else {
			p.counts.missing[x.missingReason(cidr, e)]++
		}
	}
	next := x.jobFor(cidr, e, p)
	failure, failed := x.memory.failures[cidr]
	if failed && next == nil && (e.owner == nil || e.serving || !failure.isBlackhole()) {
		p.resolved = append(p.resolved, cidr)
	}
	switch _, pending := x.memory.pending[cidr]; {
	case pending, next == nil, x.memory.listingFails():
	case failed && failure.concerns(e.owner) && x.now.Before(failure.until):
		p.noLaterThan(failure.until.Sub(x.now))
	case failed && x.memory.listing.at.Before(failure.at):
		// The call may have succeeded although its reply was an error.
		*p = plan{do: listRoutes, why: "a change of the routes has failed since they were listed"}
	case len(next.remove) > 0 && x.memory.listing.at.Before(x.changed):
		*p = plan{do: listRoutes, why: "Nodes have changed since the routes were listed"}
	default:
		p.jobs = append(p.jobs, *next)
	}
}

// noLaterThan asks for the next decision within d, if d is positive.
func (p *plan) noLaterThan(d time.Duration) {
	if d > 0 {
		p.after = min(p.after, d)
	}
}

// index joins the listed routes and the Nodes by CIDR.
type index struct {
	observed
	byName  map[string]*corev1.Node
	cidrs   []netip.Prefix // of all entries, in order
	entries map[netip.Prefix]*entry
	// strays has, for each stray route, the time of the answer that first
	// showed it.
	strays map[identity]time.Time
	// usualBits is the length of most of the Nodes' CIDRs, by family: true is IPv4.
	usualBits map[bool]int
}

// entry is what there is for one CIDR.
type entry struct {
	claimants []*corev1.Node // the oldest first
	owner     *corev1.Node   // the claimant that gets the route; nil: there is none
	routes    []judged
	serving   bool // a listed route leads to the owner
	created   bool // this process has created the route a short time ago
	blackhole bool // a listed route leads nowhere
	outdated  bool // a listed route leads to the owner with other addresses
}

// isSatisfied reports whether the owner has its route. A route that was created
// a moment ago counts, because it may be listed late. It does not count if the
// cloud lists a route for the CIDR that does not work.
func (e *entry) isSatisfied() bool { return e.serving || e.created && !e.blackhole && !e.outdated }

func newIndex(o observed) *index {
	x := &index{observed: o, byName: map[string]*corev1.Node{}, entries: map[netip.Prefix]*entry{}, strays: map[identity]time.Time{}}
	for _, node := range o.nodes {
		x.byName[node.Name] = node
		if node.DeletionTimestamp != nil {
			continue
		}
		for _, cidr := range cidrsOf(node) {
			e := x.entry(cidr)
			e.claimants = append(e.claimants, node)
		}
	}
	for _, r := range o.memory.listing.routes {
		if r.cidr.IsValid() && !o.memory.removedLately(r.identity) {
			e := x.entry(r.cidr)
			e.routes = append(e.routes, judged{route: r})
		}
	}
	slices.SortFunc(x.cidrs, netip.Prefix.Compare)
	for _, cidr := range x.cidrs {
		x.judge(cidr, x.entries[cidr])
	}
	x.findUsualBits()
	return x
}

func (x *index) entry(cidr netip.Prefix) *entry {
	e, ok := x.entries[cidr]
	if !ok {
		e = &entry{}
		x.entries[cidr] = e
		x.cidrs = append(x.cidrs, cidr)
	}
	return e
}

// cidrsOf returns the Node's pod CIDRs. The API server has validated them.
func cidrsOf(node *corev1.Node) []netip.Prefix {
	var cidrs []netip.Prefix
	for _, text := range node.Spec.PodCIDRs {
		if cidr, err := netip.ParsePrefix(text); err == nil {
			cidrs = append(cidrs, cidr.Masked())
		}
	}
	return cidrs
}

func claims(node *corev1.Node, cidr netip.Prefix) bool {
	return slices.Contains(cidrsOf(node), cidr)
}

// disowns reports whether the Node is not this daemon's. It returns false for nil.
func (o *observed) disowns(node *corev1.Node) bool {
	if node == nil {
		return false
	}
	_, disowned := o.claim.Disowns(node)
	return disowned
}
