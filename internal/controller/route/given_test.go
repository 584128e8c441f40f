package route

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

var (
	epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pods  = netip.MustParsePrefix("10.244.0.0/16")
	pods6 = netip.MustParsePrefix("fd00::/48")
)

// at returns the time that is this number of seconds after the epoch.
func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

// given returns the state from which a row starts: node-1 to node-n with CIDRs and
// routes, and a listing that is one second old.
func given(n int, changes ...func(*observed)) observed {
	o := observed{
		now: at(1000), clusters: []netip.Prefix{pods, pods6}, changed: at(900), memory: newMemory(), limits: DefaultLimits(),
	}
	o.memory.listing, o.memory.nextListing = listing{at: at(999), answered: at(999)}, at(1060)
	for i := 1; i <= n; i++ {
		o.nodes = append(o.nodes, newNode(i))
		o.memory.listing.routes = append(o.memory.listing.routes, newRoute(fmt.Sprintf("r%d", i), fmt.Sprintf("node-%d", i), fmt.Sprintf("10.244.%d.0/24", i)))
	}
	for _, change := range changes {
		change(&o)
	}
	return o
}

func newNode(i int) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("node-%d", i), UID: types.UID(fmt.Sprintf("uid-%d", i)), CreationTimestamp: metav1.NewTime(at(float64(i))),
		},
		Spec: corev1.NodeSpec{PodCIDRs: []string{fmt.Sprintf("10.244.%d.0/24", i)}},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.0.0.%d", i)}},
			Conditions: []corev1.NodeCondition{*networkUnavailable(corev1.ConditionFalse, routeCreated()).At(at(500), nil)},
		},
	}
}

func newRoute(name, target, destination string) route {
	r := route{identity: identity{name, target, destination}}
	if cidr, err := netip.ParsePrefix(destination); err == nil {
		r.cidr = cidr.Masked()
	}
	return r
}

func blackhole(r route) route {
	r.blackhole = true
	return r
}

func addressed(r route, addresses ...string) route {
	r.addressed = true
	for _, a := range addresses {
		r.addresses = append(r.addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	return r
}

func listed(routes ...route) func(*observed) {
	return func(o *observed) { o.memory.listing.routes = append(o.memory.listing.routes, routes...) }
}

func unlisted(name string) func(*observed) {
	return func(o *observed) {
		o.memory.listing.routes = slices.DeleteFunc(o.memory.listing.routes, func(r route) bool { return r.name == name })
	}
}

func node(name string, change func(*corev1.Node)) func(*observed) {
	return func(o *observed) {
		for _, n := range o.nodes {
			if n.Name == name {
				change(n)
			}
		}
	}
}

func without(name string) func(*observed) {
	return func(o *observed) {
		o.nodes = slices.DeleteFunc(o.nodes, func(n *corev1.Node) bool { return n.Name == name })
	}
}

func remember(change func(*memory)) func(*observed) {
	return func(o *observed) { change(&o.memory) }
}

// strayFor records in the memory that the route became stray d before the newest
// listing.
func strayFor(r route, d time.Duration) func(*observed) {
	return func(o *observed) { o.memory.strays[r.identity] = o.memory.listing.at.Add(-d) }
}

func nodeDeleted(name string, cidrs ...string) func(*observed) {
	return remember(func(m *memory) {
		d := deletedNode{at: at(950)}
		for _, c := range cidrs {
			d.cidrs = append(d.cidrs, netip.MustParsePrefix(c))
		}
		m.deleted[name] = d
	})
}

func noCondition(n *corev1.Node) { n.Status.Conditions = nil }

func beingDeleted(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: at(990)} }

func registeredAt(when float64) func(*corev1.Node) {
	return func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(at(when)) }
}

func label(value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels = map[string]string{ownership.LabelExclude: value} }
}

// others gives a Node to another daemon.
func others(name string) func(*observed) {
	return func(o *observed) { o.claim.Nodes = func(n *corev1.Node) bool { return n.Name != name } }
}

func restricted(o *observed) { o.claim.RestrictedLabels = true }

func condition(status corev1.ConditionStatus, reason string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: status, Reason: reason}}
	}
}

// foreignFor gives a Node the condition of another writer, which has kept pods away from
// it for this time.
func foreignFor(d time.Duration) func(*corev1.Node) {
	return func(n *corev1.Node) {
		condition(corev1.ConditionTrue, "CalicoIsDown")(n)
		n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(at(1000).Add(-d))
	}
}

// reportedForeign records in the memory that an event has reported such a condition of
// node-1.
func reportedForeign(reason string, d time.Duration) func(*observed) {
	return remember(func(m *memory) { m.foreign["uid-1"] = foreignCondition{reason, at(1000).Add(-d)} })
}

func adopting(after time.Duration) func(*observed) {
	return func(o *observed) { o.limits.AdoptAfter = after }
}

func failing(cidr string, uid types.UID, since, last, until float64) func(*observed) {
	return remember(func(m *memory) {
		m.failures[netip.MustParsePrefix(cidr)] = failure{
			count: 2, since: at(since), at: at(last), until: at(until), kind: "Failed", text: "quota", node: uid,
		}
	})
}

// digest returns a plan as lines of text: the jobs, the held routes, the conditions
// and the events.
func digest(p plan) []string {
	var lines []string
	if p.do == listRoutes {
		return []string{"list: " + p.why}
	}
	for _, j := range p.jobs {
		for _, r := range j.remove {
			lines = append(lines, fmt.Sprintf("remove %s: %s", r.route.name, r.why))
		}
		if j.create != nil {
			lines = append(lines, fmt.Sprintf("create %s for %s: %s", j.cidr, j.create.node.Name, j.create.why))
		}
	}
	for _, h := range p.held {
		lines = append(lines, fmt.Sprintf("hold %s: %s: %s", h.route.name, h.why, h.until))
	}
	for _, c := range p.patches {
		if c.foreign {
			lines = append(lines, c.node.Name+" reports "+c.condition.Reason)
			continue
		}
		lines = append(lines, fmt.Sprintf("%s NetworkUnavailable=%s %s", c.node.Name, c.condition.Status, c.condition.Reason))
	}
	for _, e := range p.events {
		lines = append(lines, fmt.Sprintf("event on %s: %s", e.node.Name, e.event.Message))
		if e.other != nil {
			lines = append(lines, fmt.Sprintf("event on %s: %s", e.other.Name, e.overlap.Message))
		}
	}
	return lines
}

// row is a test of a rule: a state, and the plan that `decide` must return for it.
type row struct {
	name string
	o    observed
	want []string
}

func check(t *testing.T, rows []row) {
	t.Helper()
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, digest(decide(tt.o))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Routes that several rows use.
var (
	unknown   = newRoute("s", "gone", "10.244.99.0/24")
	gateway   = newRoute("e", "", "10.244.99.0/24")
	broken    = blackhole(newRoute("r1", "node-1", "10.244.1.0/24"))
	unclaimed = blackhole(newRoute("b", "", "10.244.99.0/24"))
	duplicate = newRoute("r1b", "node-1", "10.244.1.0/24")
	moved     = newRoute("m", "node-2", "10.244.1.0/24")
	part      = newRoute("p", "node-2", "10.244.1.128/25")
	earlier   = newRoute("p", "node-2", "10.244.3.128/25")
	around    = newRoute("w", "node-1", "10.244.0.0/17")
)

// created records in the memory that this process has created a route for the Node.
func created(cidr string, uid types.UID) func(*observed) {
	return remember(func(m *memory) { m.created[claim{netip.MustParsePrefix(cidr), uid}] = at(990) })
}

// removedLately records in the memory that this process has removed the route.
func removedLately(r route) func(*observed) {
	return remember(func(m *memory) { m.removed[r.identity] = at(990) })
}

// pending records in the memory that a job for the CIDR waits.
func pending(cidr string, since float64) func(*observed) {
	return remember(func(m *memory) { m.pending[netip.MustParsePrefix(cidr)] = pendingJob{since: at(since)} })
}

// patchedFalse records in the memory that this process has written the condition of
// node-1, when its routes were there.
func patchedFalse(when float64) func(*observed) {
	return remember(func(m *memory) { m.patched["uid-1"] = patched{corev1.ConditionFalse, "RouteCreated", at(when)} })
}

func withCIDR(cidr string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.PodCIDRs = append(n.Spec.PodCIDRs, cidr) }
}

// podCIDRs gives a Node these CIDRs in place of its own.
func podCIDRs(name string, cidrs ...string) func(*observed) {
	return node(name, func(n *corev1.Node) { n.Spec.PodCIDRs = cidrs })
}

// cidrsSince lets a Node get its CIDRs at this time. Later changes of the Node do not count.
func cidrsSince(i int, seconds float64) func(*observed) {
	return remember(func(m *memory) {
		before, now := newNode(i), newNode(i)
		before.Spec.PodCIDRs = nil
		m.nodeChanged(before, now, at(seconds))
		m.nodeChanged(now, now, at(seconds+1000))
	})
}

// pruning asks for the removal of duplicates.
func pruning(o *observed) { o.limits.RemoveDuplicates = true }

func changedAt(when float64) func(*observed) {
	return func(o *observed) { o.changed = at(when) }
}

func strays(n int) []route {
	var routes []route
	for i := 1; i <= n; i++ {
		routes = append(routes, newRoute(fmt.Sprintf("s%d", i), fmt.Sprintf("gone-%d", i), fmt.Sprintf("10.244.%d.0/24", 200+i)))
	}
	return routes
}

func allStrayFor(d time.Duration) func(*observed) {
	return func(o *observed) {
		for _, r := range o.memory.listing.routes {
			if strings.HasPrefix(r.name, "s") {
				strayFor(r, d)(o)
			}
		}
	}
}

func listingFailing(until time.Time) func(*observed) {
	return remember(func(m *memory) {
		m.listingFailure = failure{count: 3, since: at(800), at: at(999), until: until, kind: "Unavailable", text: "no answer"}
	})
}
