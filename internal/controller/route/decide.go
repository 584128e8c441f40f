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

// observed is the input of a decision.
type observed struct {
	now      time.Time
	clusters []netip.Prefix
	// table has the results of earlier plans. If it is nil, the whole table is planned,
	// and the field nodes has all Nodes. Otherwise the function node returns the
	// current Node with the given name, or nil if there is none.
	table *table
	nodes []*corev1.Node
	node  func(name string) *corev1.Node
	// changed is the time at which a Node last changed in a way that can affect routes.
	changed time.Time
	memory  memory
	limits  Limits
	claim   ownership.Claim
}

// action is the next thing that a pass does about the table.
type action string

const (
	// listRoutes asks the cloud for its routes, and decides again.
	listRoutes action = "list the routes"
	// changeRoutes carries out the other fields of the plan.
	changeRoutes action = "change the routes"
)

// plan says what to do about the whole table, and why.
type plan struct {
	do  action
	why string

	jobs []job
	held []held
	// overBudget has the held routes that only the budget keeps.
	overBudget []held
	patches    []conditionPatch
	events     []nodeEvent
	// quiet has the Nodes that were planned and need no patch: their UIDs, by name.
	quiet map[string]types.UID
	// strays replaces the field strays of the memory.
	strays map[identity]time.Time
	// resolved has the CIDRs whose failures are over.
	resolved []netip.Prefix
	counts   counts
	// after is the longest time until the table is planned again.
	after time.Duration
	// table is for the next plan. It is nil if the routes have to be listed first.
	// Then the next plan makes a new table.
	table *table
}

// job says what to do for one CIDR: first removals, then a creation.
type job struct {
	cidr   netip.Prefix
	remove []removal
	create *creation
}

type removal struct {
	route route
	why   string
	// unclaimed means that the route's target did not claim the CIDR when the job was
	// planned. If the target claims the CIDR when the job is carried out, the route
	// is not removed.
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

// counts has the numbers of the table for the metrics.
type counts struct {
	wanted, present int
	missing         map[string]int // by reason
	unreadable      int            // destinations that are not CIDRs
}

// decide plans the CIDRs and Nodes that a change since the last plan concerns. If there
// is no table from the last plan, it plans everything. Both ways lead to the same
// state.
func decide(o observed) plan {
	if why := needsListing(o); why != "" {
		return plan{do: listRoutes, why: why}
	}
	changes := o.memory.touched
	if o.table == nil {
		byName := map[string]*corev1.Node{}
		for _, node := range o.nodes {
			byName[node.Name] = node
		}
		o.node = func(name string) *corev1.Node { return byName[name] }
		o.table = newTable(o)
		changes = o.table.all(&o.memory)
	}
	return o.table.plan(o, changes)
}

// share is the part of a plan that is about one CIDR.
type share struct {
	list             string // why the routes have to be listed first; empty if they need not be listed
	job              *job
	held, overBudget []held
	stray            bool // a route of the CIDR is stray
	resolved         bool // the failure of the CIDR is over
	wanted, present  bool
	missing          string // why the route is missing
	// until is the latest time at which the CIDR is planned again. It is zero if no
	// time is set.
	until time.Time
}

// planCIDR makes the plan for one CIDR.
func (x *index) planCIDR(cidr netip.Prefix) share {
	var s share
	failure, failed := x.memory.failures[cidr]
	e := x.entries[cidr]
	if e == nil { // No Node claims it, and no route is left.
		s.resolved = failed
		return s
	}
	if e.owner != nil {
		s.wanted, s.present = true, e.isSatisfied()
		if !s.present {
			s.missing = x.missingReason(cidr, e)
		}
	}
	next := x.jobFor(cidr, e, &s)
	s.resolved = failed && next == nil && (e.owner == nil || e.serving || !failure.isBlackhole())
	switch _, pending := x.memory.pending[cidr]; {
	case pending, next == nil, x.memory.listingFails():
	case failed && failure.concerns(e.owner) && x.now.Before(failure.until):
		s.until = x.earliest(s.until, failure.until)
	case failed && x.memory.listing.at.Before(failure.at):
		s.list = "a change of the routes has failed since they were listed" // The call may have succeeded although its reply was an error.
	case len(next.remove) > 0 && x.memory.listing.at.Before(x.changed):
		s.list = "Nodes have changed since the routes were listed"
	default:
		s.job = next
	}
	return s
}

// earliest returns the earlier one of two times. A time that is zero or not in the
// future does not count.
func (o *observed) earliest(a, b time.Time) time.Time {
	if !b.After(o.now) || a.After(o.now) && a.Before(b) {
		return a
	}
	return b
}

// index joins the listed routes and the Nodes by CIDR, for the CIDRs that a pass plans.
type index struct {
	observed
	entries map[netip.Prefix]*entry
	// strays has the stray routes of the table, each with the time of the answer that
	// first showed it as stray.
	strays map[identity]time.Time
}

// entry has the known facts about one CIDR.
type entry struct {
	claimants []*corev1.Node // the oldest first
	owner     *corev1.Node   // the claimant that gets the route; nil if there is none
	rejection *rejection     // why the owner gets no route; nil if it gets one
	routes    []judged
	serving   bool // a listed route leads to the owner
	created   bool // this process has created the route a short time ago
	blackhole bool // a listed route leads nowhere
	outdated  bool // a listed route leads to the owner with other addresses
}

// isSatisfied reports whether the owner has its route. A route that was created a
// moment ago counts, because the cloud may list it late. It does not count if a listed
// route for the CIDR is a blackhole, or leads to the owner with other addresses.
func (e *entry) isSatisfied() bool { return e.serving || e.created && !e.blackhole && !e.outdated }

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

// disowns reports whether the Node does not belong to this daemon. It returns false
// for nil.
func (o *observed) disowns(node *corev1.Node) bool {
	if node == nil {
		return false
	}
	_, disowned := o.claim.Disowns(node)
	return disowned
}
