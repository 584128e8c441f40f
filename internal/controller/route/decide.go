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

// observed is the input of a decision: all Nodes, and what this process remembers.
type observed struct {
	now      time.Time
	clusters []netip.Prefix
	nodes    []*corev1.Node
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
	// strays replaces the field strays of the memory.
	strays map[identity]time.Time
	// resolved has the CIDRs whose failures are over.
	resolved []netip.Prefix
	counts   counts
	// after is the longest time until the table is planned again.
	after time.Duration
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
	held            int            // stray routes that are not removed yet
	overBudget      int            // those of them that only the budget keeps
	// oldestFailure is the start of the failure that has lasted longest. It is zero
	// if there is no failure.
	oldestFailure time.Time
}

// decide plans the whole table.
func decide(o observed) plan {
	if why := needsListing(o); why != "" {
		return plan{do: listRoutes, why: why}
	}
	x := newIndex(o)
	p := plan{do: changeRoutes, why: "the routes are known", strays: x.strays, counts: counts{missing: map[string]int{}}}
	for _, e := range x.sorted {
		if why := x.planCIDR(e, &p); why != "" {
			return plan{do: listRoutes, why: why}
		}
	}
	for cidr := range o.memory.failures {
		if x.entries[cidr] == nil { // No Node claims it, and no route is left.
			p.resolved = append(p.resolved, cidr)
		}
	}
	for _, node := range o.nodes {
		x.planCondition(node, &p)
	}
	p.counts.unreadable, p.counts.held, p.counts.overBudget = x.unreadable, len(p.held), len(p.overBudget)
	p.after = x.next.Sub(o.now)
	return p
}

// planCIDR adds one CIDR to the plan. If the routes have to be listed first, it returns
// the reason. Otherwise it returns the empty string.
func (x *index) planCIDR(e *entry, p *plan) (list string) {
	failure, failed := x.memory.failures[e.cidr]
	if e.owner != nil {
		p.counts.wanted++
		if e.isSatisfied() {
			p.counts.present++
		} else {
			p.counts.missing[x.missingReason(e)]++
		}
	}
	next := x.jobFor(e, p)
	if failed && next == nil && (e.owner == nil || e.serving || !failure.isBlackhole()) {
		p.resolved = append(p.resolved, e.cidr)
	}
	switch _, pending := x.memory.pending[e.cidr]; {
	case pending, next == nil, x.memory.listingFails():
	case failed && failure.concerns(e.owner) && x.now.Before(failure.until):
		x.planAgain(failure.until)
	case failed && x.memory.listing.at.Before(failure.at):
		return "a change of the routes has failed since they were listed" // The call may have succeeded although its reply was an error.
	case len(next.remove) > 0 && x.memory.listing.at.Before(x.changed):
		return "Nodes have changed since the routes were listed"
	default:
		p.jobs = append(p.jobs, *next)
	}
	return ""
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

// disowns reports whether the Node does not belong to this daemon. It returns false
// for nil.
func (o *observed) disowns(node *corev1.Node) bool {
	if node == nil {
		return false
	}
	_, disowned := o.claim.Disowns(node)
	return disowned
}
