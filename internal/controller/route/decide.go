package route

import (
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// LabelExclude on a Node keeps all rules off it, unless its value says false.
const LabelExclude = "fairlead.dev/exclude"

// route is an entry of the cloud's table.
type route struct {
	identity
	// cidr is the zero value where the destination cannot be parsed.
	cidr      netip.Prefix
	blackhole bool
	addresses []corev1.NodeAddress
	addressed bool // the provider keeps the node's addresses in the route
}

// identity tells one route from all others.
type identity struct{ name, target, destination string }

// listing is what the cloud has listed. Its zero value is none.
type listing struct {
	at       time.Time // when the question began
	answered time.Time
	routes   []route
}

// claim is a CIDR of a Node.
type claim struct {
	cidr netip.Prefix
	node types.UID
}

// memory is what this process knows beyond the listing. It may be lost.
type memory struct {
	made     map[claim]time.Time        // creations that have succeeded
	gone     map[identity]time.Time     // removals that have succeeded
	suspects map[identity]time.Time     // since which listing the route looks stray
	departed map[string]departure       // Nodes whose deletion was seen, by name
	failures map[netip.Prefix]failure   // of the last job for a CIDR
	busy     map[netip.Prefix]time.Time // since when a job is queued or under way
	blind    failure                    // of the listing
	shown    map[types.UID]shown        // the condition that was last written
}

// departure is a Node that is no more.
type departure struct {
	at    time.Time
	cidrs []netip.Prefix
}

// observed is all that a decision may look at.
type observed struct {
	now      time.Time
	clusters []netip.Prefix
	nodes    []*corev1.Node
	listing  listing
	due      time.Time // of the next regular listing
	changed  time.Time // when a Node last changed
	memory   memory
	limits   Limits
}

// plan is what to do about the whole table.
type plan struct {
	// look asks for a listing before anything else is decided.
	look bool
	why  string

	jobs     []job
	held     []held
	crowd    []held // those of them that are held only since they are so many
	verdicts []verdict
	notes    []note
	// suspects is the memory of that name from now on, healed are the CIDRs
	// whose failures are over.
	suspects map[identity]time.Time
	healed   []netip.Prefix
	tally    tally
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
	// orphan means that its target does not claim the CIDR. If it does by the
	// time of the removal, the route stays.
	orphan bool
}

type creation struct {
	node *corev1.Node
	hint string
	why  string
	// doubtful means that there is, or was, a route that the cloud has made a
	// blackhole of: only a listing shows whether the new one is better.
	doubtful bool
}

// held is a route that would go and does not yet.
type held struct {
	route route
	why   string
}

// tally is the table in numbers.
type tally struct {
	wanted, present int
	missing         map[string]int // by reason
	unreadable      int            // destinations that cannot be parsed
}

// decide is the one decision about the table.
func decide(o observed) plan {
	if why := lookFirst(o); why != "" {
		return plan{look: true, why: why}
	}
	s := newSurvey(o)
	p := plan{suspects: s.suspects, after: untilLook(o), tally: tally{missing: map[string]int{}}}
	for _, cidr := range s.cidrs {
		s.settle(&p, cidr)
		if p.look {
			return p
		}
	}
	for cidr := range o.memory.failures {
		if _, known := s.entries[cidr]; !known {
			p.healed = append(p.healed, cidr) // Nobody wants it, and nothing is left of it.
		}
	}
	for _, r := range o.listing.routes {
		if !r.cidr.IsValid() {
			p.tally.unreadable++
		}
	}
	s.show(&p)
	return p
}

// settle plans what is to be done for one CIDR.
func (s *survey) settle(p *plan, cidr netip.Prefix) {
	e := s.entries[cidr]
	if e.owner != nil {
		p.tally.wanted++
		if e.isSatisfied() {
			p.tally.present++
		} else {
			p.tally.missing[s.missingReason(cidr, e)]++
		}
	}
	next := s.jobFor(cidr, e, p)
	failure, failed := s.memory.failures[cidr]
	if failed && next == nil && (e.owner == nil || e.serving || !failure.doubtful()) {
		p.healed = append(p.healed, cidr)
	}
	switch _, busy := s.memory.busy[cidr]; {
	case busy, next == nil, s.isBlind():
	case failed && failure.isOf(e.owner) && s.now.Before(failure.until):
		p.sooner(failure.until.Sub(s.now))
	case failed && s.listing.at.Before(failure.at):
		*p = plan{look: true, why: "a change of the routes has failed since they were listed"}
	case len(next.remove) > 0 && s.listing.at.Before(s.changed):
		*p = plan{look: true, why: "Nodes have changed since the routes were listed"}
	default:
		p.jobs = append(p.jobs, *next)
	}
}

// sooner makes the next decision come after d, unless it comes sooner anyway.
func (p *plan) sooner(d time.Duration) {
	if d > 0 {
		p.after = min(p.after, d)
	}
}

// survey is the table and the Nodes, joined by CIDR.
type survey struct {
	observed
	byName   map[string]*corev1.Node
	cidrs    []netip.Prefix // of all entries, in order
	entries  map[netip.Prefix]*entry
	suspects map[identity]time.Time
}

// entry is what there is for one CIDR.
type entry struct {
	claimants []*corev1.Node // the oldest first
	owner     *corev1.Node   // the claimant that the route is for; nil: nobody
	routes    []judged
	serving   bool // a listed route leads to the owner
	made      bool // or this process has just created it
	blackhole bool // a listed route leads nowhere
	outdated  bool // a listed route leads to the owner by other addresses
}

// isSatisfied: what was created is listed late, but what is listed and of no use
// is not believed to be better already.
func (e *entry) isSatisfied() bool { return e.serving || e.made && !e.blackhole && !e.outdated }

func newSurvey(o observed) *survey {
	s := &survey{
		observed: o, byName: map[string]*corev1.Node{}, entries: map[netip.Prefix]*entry{}, suspects: map[identity]time.Time{},
	}
	for _, node := range o.nodes {
		s.byName[node.Name] = node
		if node.DeletionTimestamp != nil {
			continue
		}
		for _, cidr := range cidrsOf(node) {
			e := s.entry(cidr)
			e.claimants = append(e.claimants, node)
		}
	}
	for _, r := range o.listing.routes {
		if r.cidr.IsValid() && !o.isGone(r.identity) {
			e := s.entry(r.cidr)
			e.routes = append(e.routes, judged{route: r})
		}
	}
	slices.SortFunc(s.cidrs, netip.Prefix.Compare)
	for _, cidr := range s.cidrs {
		s.judge(cidr, s.entries[cidr])
	}
	return s
}

func (s *survey) entry(cidr netip.Prefix) *entry {
	e, ok := s.entries[cidr]
	if !ok {
		e = &entry{}
		s.entries[cidr] = e
		s.cidrs = append(s.cidrs, cidr)
	}
	return e
}

// cidrsOf are the Node's pod CIDRs. What cannot be parsed the API server has
// not let in.
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
