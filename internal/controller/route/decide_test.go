package route

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var (
	epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	pods  = netip.MustParsePrefix("10.244.0.0/16")
	pods6 = netip.MustParsePrefix("fd00::/48")
)

// at is the time so many seconds after the epoch.
func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

// scene is the beginning of a row: node-1 to node-n with CIDRs and routes, and
// the newest listing a moment ago.
func scene(n int, changes ...func(*observed)) observed {
	o := observed{
		now: at(1000), clusters: []netip.Prefix{pods, pods6}, listing: listing{at: at(999), answered: at(999)}, due: at(1060), changed: at(900),
		memory: newMemory(), limits: DefaultLimits(),
	}
	for i := 1; i <= n; i++ {
		o.nodes = append(o.nodes, newNode(i))
		o.listing.routes = append(o.listing.routes, newRoute(fmt.Sprintf("r%d", i), fmt.Sprintf("node-%d", i), fmt.Sprintf("10.244.%d.0/24", i)))
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
			Conditions: []corev1.NodeCondition{networkUnavailable(corev1.ConditionFalse, at(500), nil)},
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
	return func(o *observed) { o.listing.routes = append(o.listing.routes, routes...) }
}

func unlisted(name string) func(*observed) {
	return func(o *observed) {
		o.listing.routes = slices.DeleteFunc(o.listing.routes, func(r route) bool { return r.name == name })
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

// suspected is a route that earlier listings had under suspicion for so long.
func suspected(r route, d time.Duration) func(*observed) {
	return func(o *observed) { o.memory.suspects[r.identity] = o.listing.at.Add(-d) }
}

func departed(name string, cidrs ...string) func(*observed) {
	return remember(func(m *memory) {
		d := departure{at: at(950)}
		for _, c := range cidrs {
			d.cidrs = append(d.cidrs, netip.MustParsePrefix(c))
		}
		m.departed[name] = d
	})
}

func uncondition(n *corev1.Node) { n.Status.Conditions = nil }

func leaving(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: at(990)} }

func label(value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels = map[string]string{LabelExclude: value} }
}

func condition(status corev1.ConditionStatus, reason string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: status, Reason: reason}}
	}
}

func failing(cidr string, uid types.UID, since, last, until float64) func(*observed) {
	return remember(func(m *memory) {
		m.failures[netip.MustParsePrefix(cidr)] = failure{
			count: 2, since: at(since), at: at(last), until: at(until), reason: "Failed", text: "quota", node: uid,
		}
	})
}

// digest is a plan in lines: what is done, held, said, and written.
func digest(p plan) []string {
	var lines []string
	if p.look {
		return []string{"look: " + p.why}
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
		lines = append(lines, fmt.Sprintf("hold %s: %s", h.route.name, h.why))
	}
	for _, v := range p.verdicts {
		lines = append(lines, fmt.Sprintf("%s NetworkUnavailable=%s %s", v.node.Name, v.condition.Status, v.condition.Reason))
	}
	for _, n := range p.notes {
		lines = append(lines, fmt.Sprintf("tell %s: %s %s", n.node.Name, n.cidr, n.text))
	}
	return lines
}

const soon = ": it goes if that stays so for 30s"

// TestDecide has a row for each rule; the comment says what upstream does where
// it does something else (upstream-behaviour 5.2, 10.3). docs/reference/routes.md names
// the rows that prove it.
func TestDecide(t *testing.T) {
	stray := newRoute("s", "gone", "10.244.99.0/24")
	empty := newRoute("e", "", "10.244.99.0/24")
	dead := blackhole(newRoute("r1", "node-1", "10.244.1.0/24"))
	lost := blackhole(newRoute("b", "", "10.244.99.0/24"))
	twin := newRoute("r1b", "node-1", "10.244.1.0/24")
	moved := newRoute("m", "node-2", "10.244.1.0/24")
	rows := []struct {
		name string
		o    observed
		want []string
	}{
		// What stays.
		{"NothingToDo", scene(3), nil},
		{"OutsideOfTheCluster", scene(1, listed(newRoute("o", "gone", "10.9.0.0/24"))), nil},
		{"Wider", scene(1, listed(newRoute("w", "gone", "10.244.0.0/15"))), nil},         // upstream deletes it
		{"WiderAtTheEnd", scene(1, listed(newRoute("w", "gone", "10.240.0.0/12"))), nil}, // upstream keeps it
		{"AsWideAsTheCluster", scene(1, listed(newRoute("w", "gone", "10.244.0.0/16"))), nil},
		{"Unparsable", scene(1, listed(newRoute("u", "gone", "10.244.99.0"))), nil},
		{"EmptyTarget", scene(1, listed(empty)), nil}, // upstream deletes it
		{
			"EmptyTargetOnANodesCIDR", scene(1, unlisted("r1"), listed(newRoute("e", "", "10.244.1.0/24"))),
			[]string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"},
		},
		{"TargetIsANodeWithAnotherCIDR", scene(2, listed(newRoute("x", "node-1", "10.244.99.0/24"))), nil},                                               // upstream deletes it
		{"TargetIsANodeWithoutCIDRs", scene(1, node("node-1", func(n *corev1.Node) { n.Spec.PodCIDRs = nil; n.CreationTimestamp.Time = at(990) })), nil}, // upstream deletes it
		{"TargetIsBeingDeleted", scene(2, node("node-1", leaving)), nil},
		{"ExcludedTarget", scene(1, listed(newRoute("x", "node-1", "10.244.99.0/24")), node("node-1", label("")), departed("node-1", "10.244.99.0/24")), nil},
		{"RouteOfAnExcludedNodeToAnotherOne", scene(2, unlisted("r1"), listed(moved), node("node-1", label("true"))), nil},
		{"LabelThatSaysFalse", scene(2, unlisted("r1"), node("node-1", label("false"))), []string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"}},
		{
			"TwoNodesClaimOneCIDR", scene(2, unlisted("r1"), listed(moved), node("node-2", func(n *corev1.Node) { n.Spec.PodCIDRs = append(n.Spec.PodCIDRs, "10.244.1.0/24") })),
			[]string{"node-1 NetworkUnavailable=True NoRouteCreated"},
		}, // who has the route keeps it; the other says so

		{
			"AndWhereBothHaveRoutes", scene(2, listed(moved), node("node-2", func(n *corev1.Node) { n.Spec.PodCIDRs = append(n.Spec.PodCIDRs, "10.244.1.0/24") })),
			[]string{"node-2 NetworkUnavailable=True NoRouteCreated"},
		},

		{
			"TheOlderOneOfTwoClaimantsGetsIt", scene(2, unlisted("r1"), node("node-2", func(n *corev1.Node) { n.Spec.PodCIDRs = append(n.Spec.PodCIDRs, "10.244.1.0/24") })),
			[]string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR", "node-2 NetworkUnavailable=True NoRouteCreated"},
		},
		{
			"ABlackholeDoesNotCount", scene(2, unlisted("r1"), listed(blackhole(moved)), node("node-2", func(n *corev1.Node) { n.Spec.PodCIDRs = append(n.Spec.PodCIDRs, "10.244.1.0/24") })),
			[]string{"create 10.244.1.0/24 for node-1: the route of its CIDR leads nowhere", "node-2 NetworkUnavailable=True NoRouteCreated"},
		},
		{"ANodeThatLeavesHasWhatAnEarlierOneHad", scene(2, node("node-1", leaving), departed("node-1", "10.244.1.0/24")), nil},

		// What goes at once.
		{"ANodeThatLeavesGivesWay", scene(2, unlisted("r1"), listed(newRoute("m", "node-2", "10.244.1.0/24")), node("node-2", leaving),
			node("node-2", func(n *corev1.Node) { n.Spec.PodCIDRs = append(n.Spec.PodCIDRs, "10.244.1.0/24") })), []string{
			"remove m: its CIDR now belongs to Node node-1", "create 10.244.1.0/24 for node-1: there is no route for its CIDR",
		}},
		{"MovedToAnotherNode", scene(2, unlisted("r1"), listed(moved)), []string{
			"remove m: its CIDR now belongs to Node node-1", "create 10.244.1.0/24 for node-1: there is no route for its CIDR",
		}},
		{"MovedFromANodeThatIsNoMore", scene(1, unlisted("r1"), listed(newRoute("m", "gone", "10.244.1.0/24"))), []string{
			"remove m: its CIDR now belongs to Node node-1", "create 10.244.1.0/24 for node-1: there is no route for its CIDR",
		}},
		{"MovedAndTheNewOneIsThere", scene(2, listed(moved)), []string{"remove m: its CIDR now belongs to Node node-1"}},
		{"NodeWasDeleted", scene(2, without("node-1"), departed("node-1", "10.244.1.0/24")), []string{"remove r1: Node node-1 was deleted"}},
		{"NodeWasReplacedUnderItsName", scene(1, listed(newRoute("old", "node-1", "10.244.99.0/24")), departed("node-1", "10.244.99.0/24")), []string{"remove old: Node node-1 was deleted"}},
		{"NodeWasReplacedAndHasItsCIDRAgain", scene(1, departed("node-1", "10.244.1.0/24")), nil},
		{"NodeWasReplacedAndHasAForeignRoute", scene(1, listed(newRoute("x", "node-1", "10.244.98.0/24")), departed("node-1", "10.244.99.0/24")), nil},
		{"AddressesHaveChanged", scene(1, unlisted("r1"), listed(addressed(newRoute("r1", "node-1", "10.244.1.0/24"), "10.0.0.9"))), []string{
			"remove r1: the addresses of Node node-1 have changed", "create 10.244.1.0/24 for node-1: there is no route for its CIDR",
		}},
		{"AddressesHaveChangedSinceItWasMade", scene(1, unlisted("r1"), listed(addressed(newRoute("r1", "node-1", "10.244.1.0/24"), "10.0.0.9")), remember(func(m *memory) {
			m.made[claim{netip.MustParsePrefix("10.244.1.0/24"), "uid-1"}] = at(990)
		})), []string{
			"remove r1: the addresses of Node node-1 have changed", "create 10.244.1.0/24 for node-1: there is no route for its CIDR",
		}},
		{"AddressIsMissing", scene(1, unlisted("r1"), listed(addressed(newRoute("r1", "node-1", "10.244.1.0/24"), "10.0.0.1", "10.0.0.9"))), []string{
			"remove r1: the addresses of Node node-1 have changed", "create 10.244.1.0/24 for node-1: there is no route for its CIDR",
		}},
		{"AddressesAreTheSame", scene(1, unlisted("r1"), listed(addressed(newRoute("r1", "node-1", "10.244.1.0/24"), "10.0.0.1"))), nil},
		{"AddressesDoNotCount", scene(1, unlisted("r1"), listed(func() route {
			r := addressed(newRoute("r1", "node-1", "10.244.1.0/24"), "10.0.0.9")
			r.addressed = false
			return r
		}())), nil},
		{"NodeHasNoAddressesYet", scene(1, unlisted("r1"), listed(addressed(newRoute("r1", "node-1", "10.244.1.0/24"), "10.0.0.1")),
			node("node-1", func(n *corev1.Node) { n.Status.Addresses = nil })), nil},

		// What goes once listings agree.
		{"NoSuchNode", scene(1, listed(stray)), []string{"hold s: there is no Node gone" + soon}},
		{"NoSuchNodeForAWhile", scene(1, listed(stray), suspected(stray, 28*time.Second)), []string{"hold s: there is no Node gone" + soon}},
		{"NoSuchNodeForLong", scene(1, listed(stray), suspected(stray, 30*time.Second)), []string{"remove s: there is no Node gone"}},
		{"BlackholeOfNobody", scene(1, listed(lost), suspected(lost, time.Minute)), []string{"remove b: it leads nowhere"}},
		{"BlackholeOfANode", scene(1, unlisted("r1"), listed(dead)), []string{ // upstream deletes it and calls the node reachable
			"create 10.244.1.0/24 for node-1: the route of its CIDR leads nowhere", "hold r1: it leads nowhere" + soon}},
		{"BlackholeOfANodeForLong", scene(1, unlisted("r1"), listed(dead), suspected(dead, time.Minute)), []string{
			"remove r1: it leads nowhere", "create 10.244.1.0/24 for node-1: the route of its CIDR leads nowhere",
		}},
		{"BlackholeOfANodeWithAnotherCIDR", scene(1, listed(blackhole(newRoute("b", "node-1", "10.244.99.0/24")))), []string{"hold b: it leads nowhere" + soon}},
		{"BlackholeOfAnotherNode", scene(2, unlisted("r1"), listed(blackhole(moved))), []string{
			"remove m: its CIDR now belongs to Node node-1", "create 10.244.1.0/24 for node-1: the route of its CIDR leads nowhere",
		}},
		{"BlackholeWithoutTargetOnANodesCIDR", scene(1, unlisted("r1"), listed(blackhole(newRoute("b", "", "10.244.1.0/24")))), []string{
			"create 10.244.1.0/24 for node-1: the route of its CIDR leads nowhere", "hold b: it leads nowhere" + soon,
		}}, // it may be the node's own, in a provider's half filled cache
		{"Twin", scene(1, listed(twin)), []string{"hold r1b: it is there twice" + soon}}, // upstream keeps both
		{"TwinForLong", scene(1, listed(twin), suspected(twin, time.Minute)), []string{"remove r1b: it is there twice"}},
		{"TwinOfTheSameName", scene(1, listed(newRoute("r1", "node-1", "10.244.1.0/24"))), nil},
		{"TwinWithoutName", scene(1, listed(newRoute("", "node-1", "10.244.1.0/24"))), nil},
		{"ACrowd", scene(1, listed(strays(4)...), suspectAll(time.Minute)), kept(4, 5)},
		{"NoCrowd", scene(1, listed(strays(3)...), suspectAll(time.Minute)), []string{
			"remove s1: there is no Node gone-1", "remove s2: there is no Node gone-2", "remove s3: there is no Node gone-3",
		}},
		{"ACrowdIsAPart", scene(90, listed(strays(10)...), suspectAll(time.Minute)), removed(10)},
		{"ACrowdForLong", scene(1, listed(strays(4)...), suspectAll(10*time.Minute)), removed(4)},
		{"FreshOnesMakeACrowdToo", scene(1, listed(strays(3)...), suspectAll(time.Minute), listed(newRoute("s4", "gone-4", "10.244.204.0/24"))), append(kept(3, 5),
			"hold s4: there is no Node gone-4"+soon)},
		{"DeletedNodesAreNoCrowd", scene(6, func(o *observed) {
			for i := 1; i <= 5; i++ {
				without(fmt.Sprintf("node-%d", i))(o)
				departed(fmt.Sprintf("node-%d", i))(o)
			}
		}), []string{
			"remove r1: Node node-1 was deleted", "remove r2: Node node-2 was deleted", "remove r3: Node node-3 was deleted",
			"remove r4: Node node-4 was deleted", "remove r5: Node node-5 was deleted",
		}},

		// What is created.
		{"NoRoute", scene(1, unlisted("r1")), []string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"}},
		{"NodeIsBeingDeleted", scene(1, unlisted("r1"), node("node-1", leaving)), nil},
		{"CIDROutsideOfTheCluster", scene(1, node("node-1", func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.9.0.0/24"} }), unlisted("r1")), []string{
			"create 10.9.0.0/24 for node-1: there is no route for its CIDR",
		}},
		{"RouteOutsideOfTheClusterServes", scene(1, node("node-1", func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.9.0.0/24"} }), unlisted("r1"),
			listed(newRoute("o", "node-1", "10.9.0.0/24"))), nil},
		{"AnotherSpellingOfTheNode", scene(1, node("node-1", func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.244.1.7/24"} })), nil},
		{"AnotherSpelling", scene(1, unlisted("r1"), listed(newRoute("r1", "node-1", "10.244.1.7/24"))), nil},
		{"WasJustCreated", scene(1, unlisted("r1"), remember(func(m *memory) { m.made[claim{netip.MustParsePrefix("10.244.1.0/24"), "uid-1"}] = at(990) })), nil},
		{
			"WasCreatedLongAgo", scene(1, unlisted("r1"), remember(func(m *memory) { m.made[claim{netip.MustParsePrefix("10.244.1.0/24"), "uid-1"}] = at(960) })),
			[]string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"},
		},
		{
			"WasCreatedForAnother", scene(1, unlisted("r1"), remember(func(m *memory) { m.made[claim{netip.MustParsePrefix("10.244.1.0/24"), "uid-9"}] = at(990) })),
			[]string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"},
		},
		{"WasJustRemovedAndIsStillListed", scene(1, listed(stray), suspected(stray, time.Minute), remember(func(m *memory) { m.gone[stray.identity] = at(990) })), nil},
		{
			"WasRemovedLongAgoAndIsListedAgain", scene(1, listed(stray), suspected(stray, time.Minute), remember(func(m *memory) { m.gone[stray.identity] = at(960) })),
			[]string{"remove s: there is no Node gone"},
		},
		{"IsUnderWay", scene(1, unlisted("r1"), remember(func(m *memory) { m.busy[netip.MustParsePrefix("10.244.1.0/24")] = at(999) })), nil},

		// When the cloud is asked.
		{"Nothing is known", scene(1, func(o *observed) { o.listing = listing{} }), []string{"look: the routes are not known yet"}},
		{"TheRegularCheck", scene(1, func(o *observed) { o.due = o.now }), []string{"look: the regular check"}},
		{"ANewNodeNeedsNoListing", scene(1, unlisted("r1"), func(o *observed) { o.changed = at(999.5) }), []string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"}},
		{"ARemovalDoes", scene(2, without("node-1"), func(o *observed) { o.memory.departed["node-1"], o.changed = departure{at: at(999.5)}, at(999.5) }), []string{"look: a Node was deleted since the routes were listed"}},
		{"AndSoDoesACIDRThatHasMoved", scene(2, unlisted("r1"), listed(moved), func(o *observed) { o.changed = at(999.5) }), []string{"look: Nodes have changed since the routes were listed"}},
		{"WhatHasGoneSinceThePassBeganCanWait", scene(2, func(o *observed) { o.memory.departed["x"] = departure{at: at(999.5)} }), nil},
		{"StrayRoutesAreLookedAtAgain", scene(1, listed(stray), suspected(stray, 29*time.Second)), []string{"look: stray routes are looked at again"}},
		{"ACrowdIsLookedAtAgain", scene(1, listed(strays(4)...), suspectAll(10*time.Minute-time.Second)), []string{"look: stray routes are looked at again"}},

		// Failures.
		{"FailureWaits", scene(1, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 990, 998, 1001)), nil},
		{"AndIsTriedAgainAfterALook", scene(1, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 990, 999.5, 1000)), []string{"look: a change of the routes has failed since they were listed"}},
		{"WithTheNewListing", scene(1, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 990, 998, 1000)), []string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"}},
		{"FailureOfAnotherNodeDoesNotCount", scene(1, unlisted("r1"), failing("10.244.1.0/24", "uid-9", 990, 998, 1001)), []string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"}},
		{"OneFailureHoldsUpNoOther", scene(2, unlisted("r1"), unlisted("r2"), failing("10.244.1.0/24", "uid-1", 990, 998, 1001)), []string{"create 10.244.2.0/24 for node-2: there is no route for its CIDR"}},
		{"CloudDoesNotAnswer", scene(2, unlisted("r1"), blind(at(1001))), nil},
		{"AndIsAskedAgain", scene(2, blind(at(1000))), []string{"look: the last listing has failed"}},
		{"NothingGoesMeanwhile", scene(2, without("node-1"), departed("node-1"), blind(at(1001))), nil},
		{"ANewNodeIsTold", scene(2, unlisted("r1"), node("node-1", uncondition), blind(at(1001))), []string{
			"node-1 NetworkUnavailable=True NoRouteCreated", "tell node-1: 10.244.1.0/24 no answer",
		}},
		{"NobodyElseIs", scene(1, func(o *observed) { o.listing = listing{} }, blind(at(1001))), nil}, // a new leader during an outage

		// The condition.
		{"NewNodeHasItsRoutes", scene(1, node("node-1", uncondition)), []string{"node-1 NetworkUnavailable=False RouteCreated"}},
		{"NewNodeHasNoneYet", scene(1, unlisted("r1"), node("node-1", uncondition), remember(func(m *memory) { m.busy[netip.MustParsePrefix("10.244.1.0/24")] = at(941) })), nil},
		{
			"ForAMinute", scene(1, unlisted("r1"), node("node-1", uncondition), remember(func(m *memory) { m.busy[netip.MustParsePrefix("10.244.1.0/24")] = at(940) })),
			[]string{"node-1 NetworkUnavailable=True NoRouteCreated"},
		},
		{
			"NewNodeHasFailed", scene(1, unlisted("r1"), node("node-1", uncondition), failing("10.244.1.0/24", "uid-1", 998, 998, 1001)),
			[]string{"node-1 NetworkUnavailable=True NoRouteCreated"},
		},
		{"ReachableNodeHasFailedOnce", scene(1, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 941, 998, 1001)), nil},
		{"ForAMinuteNow", scene(1, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 940, 998, 1001)), []string{"node-1 NetworkUnavailable=True NoRouteCreated"}},
		{"NoRouteYetStaysTrue", scene(1, unlisted("r1"), node("node-1", condition(corev1.ConditionTrue, "NoRouteCreated")), failing("10.244.1.0/24", "uid-1", 998, 998, 1001)), nil},
		{"RouteIsThereAtLast", scene(1, node("node-1", condition(corev1.ConditionTrue, "NoRouteCreated"))), []string{"node-1 NetworkUnavailable=False RouteCreated"}},
		{"KubeletsOwnReason", scene(1, node("node-1", condition(corev1.ConditionTrue, "NoRouteCreated"))), []string{"node-1 NetworkUnavailable=False RouteCreated"}},
		{"PluginSaysAvailable", scene(1, node("node-1", condition(corev1.ConditionFalse, "CalicoIsUp"))), nil}, // upstream overwrites it
		{"PluginSaysAvailableAndTheRouteIsMissing", scene(1, unlisted("r1"), node("node-1", condition(corev1.ConditionFalse, "CalicoIsUp")), failing("10.244.1.0/24", "uid-1", 0, 998, 1001)), nil},
		{"PluginSaysUnavailable", scene(1, node("node-1", condition(corev1.ConditionTrue, "CalicoIsDown"))), nil},
		{"OneOfTwoFamiliesIsMissing", scene(1, node("node-1", func(n *corev1.Node) { n.Spec.PodCIDRs = append(n.Spec.PodCIDRs, "fd00:0:0:1::/64"); uncondition(n) }),
			failing("fd00:0:0:1::/64", "uid-1", 998, 998, 1001)), []string{"node-1 NetworkUnavailable=True NoRouteCreated"}},
		{"BothAreThere", scene(1, node("node-1", func(n *corev1.Node) { n.Spec.PodCIDRs = append(n.Spec.PodCIDRs, "fd00:0:0:1::/64"); uncondition(n) }),
			listed(newRoute("r6", "node-1", "fd00:0:0:1::/64"))), []string{"node-1 NetworkUnavailable=False RouteCreated"}},
		{"NeitherRoutesNorCIDRs", scene(0, func(o *observed) {
			n := newNode(1)
			n.Spec.PodCIDRs = nil
			uncondition(n)
			o.nodes = append(o.nodes, n)
		}), nil},
		{"RoutesAndNoCIDRs", scene(1, node("node-1", func(n *corev1.Node) { n.Spec.PodCIDRs = nil })), []string{"node-1 NetworkUnavailable=True NoRouteCreated"}},
		{"ExcludedNodeIsNotWrittenTo", scene(1, node("node-1", func(n *corev1.Node) { uncondition(n); label("")(n) })), nil},
		{"LeavingNodeIsNotWrittenTo", scene(1, node("node-1", func(n *corev1.Node) { uncondition(n); leaving(n) })), nil},
		{"WhatWasWrittenIsNotWrittenAgain", scene(1, node("node-1", uncondition), remember(func(m *memory) { m.shown["uid-1"] = shown{corev1.ConditionFalse, at(701)} })), nil},
		{
			"UnlessSomebodyUndidItLongAgo", scene(1, node("node-1", uncondition), remember(func(m *memory) { m.shown["uid-1"] = shown{corev1.ConditionFalse, at(700)} })),
			[]string{"node-1 NetworkUnavailable=False RouteCreated"},
		},
		{"BlackholeIsNoRoute", scene(1, unlisted("r1"), listed(dead), node("node-1", uncondition), func(o *observed) {
			o.memory.made[claim{netip.MustParsePrefix("10.244.1.0/24"), "uid-1"}] = at(998)
			o.memory.failures[netip.MustParsePrefix("10.244.1.0/24")] = failure{count: 1, since: at(998), at: at(998), until: at(1005), reason: reasonBlackhole, node: "uid-1"}
		}), []string{"hold r1: it leads nowhere" + soon, "node-1 NetworkUnavailable=True NoRouteCreated"}}, // upstream says False
	}
	known := map[string]bool{}
	for _, tt := range rows {
		known[tt.name] = true
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, digest(decide(tt.o))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	t.Run("TheReferenceNamesRows", func(t *testing.T) { namesRows(t, known) })
}

func strays(n int) []route {
	var routes []route
	for i := 1; i <= n; i++ {
		routes = append(routes, newRoute(fmt.Sprintf("s%d", i), fmt.Sprintf("gone-%d", i), fmt.Sprintf("10.244.%d.0/24", 200+i)))
	}
	return routes
}

func suspectAll(d time.Duration) func(*observed) {
	return func(o *observed) {
		for _, r := range o.listing.routes {
			if strings.HasPrefix(r.name, "s") {
				suspected(r, d)(o)
			}
		}
	}
}

func removed(n int) []string {
	var lines []string
	for i := 1; i <= n; i++ {
		lines = append(lines, fmt.Sprintf("remove s%d: there is no Node gone-%d", i, i))
	}
	return lines
}

// kept are n routes that a crowd of 4 among all routes keeps.
func kept(n, all int) []string {
	var lines []string
	for i := 1; i <= n; i++ {
		lines = append(lines, fmt.Sprintf("hold s%d: there is no Node gone-%d: 4 of %d routes would go together, more than max(3, 10 %%). "+
			"That may be a wrong answer, so they stay until it has been so for 10m0s", i, i, all))
	}
	return lines
}

func blind(until time.Time) func(*observed) {
	return remember(func(m *memory) {
		m.blind = failure{count: 3, since: at(800), at: at(999), until: until, reason: "Unavailable", text: "no answer"}
	})
}

func TestCrowdIsWhatOnlyItsNumberKeeps(t *testing.T) {
	fresh := newRoute("f", "gone", "10.244.210.0/24")
	for _, tt := range []struct {
		name string
		o    observed
		want int
	}{
		{"AtFirst", scene(1, listed(strays(4)...)), 0},
		{"ForAWhile", scene(1, listed(strays(4)...), suspectAll(30*time.Second)), 4},
		{"BesideAFreshOne", scene(1, listed(fresh), listed(strays(4)...), suspectAll(time.Minute)), 4},
		{"TooFew", scene(1, listed(fresh), listed(strays(2)...), suspectAll(time.Minute)), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := decide(tt.o)
			if len(p.crowd) != tt.want {
				t.Fatalf("%d routes, want %d: %+v", len(p.crowd), tt.want, p.crowd)
			}
			if tt.want > 0 && !strings.Contains(deletionHeld(p.crowd).message, "4 routes of the cloud") {
				t.Errorf("message %q", deletionHeld(p.crowd).message)
			}
		})
	}
}

// Two listings are as far apart as the answer of one and the question of the next.
func TestSuspicionBeginsWithTheAnswer(t *testing.T) {
	stray := newRoute("r9", "gone", "10.244.9.0/24")
	o := scene(1, func(o *observed) { o.listing.routes = append(o.listing.routes, stray) })
	o.listing.at, o.listing.answered = at(980), at(999)
	if got := decide(o).suspects[stray.identity]; !got.Equal(at(999)) {
		t.Errorf("suspicious since %v, want %v", got, at(999))
	}
}

func TestRemovalComesBeforeCreation(t *testing.T) {
	p := decide(scene(2, unlisted("r1"), listed(newRoute("m", "node-2", "10.244.1.0/24"))))
	if len(p.jobs) != 1 || len(p.jobs[0].remove) != 1 || p.jobs[0].create == nil {
		t.Errorf("jobs %+v, want both in one", p.jobs)
	}
}

func TestHints(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cidrs []string
		want  []string
	}{
		{"Single", []string{"10.244.1.0/24"}, []string{"uid-1"}},
		{"FourFirst", []string{"10.244.1.0/24", "fd00:0:0:1::/64"}, []string{"uid-1", "uid-1-ipv6"}},
		{"SixFirst", []string{"fd00:0:0:1::/64", "10.244.1.0/24"}, []string{"uid-1", "uid-1-ipv4"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(1)
			n.Spec.PodCIDRs = tt.cidrs
			var got []string
			for _, cidr := range cidrsOf(n) {
				got = append(got, hintFor(n, cidr))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestBackoffOfFailures(t *testing.T) {
	var f failure
	var pauses []time.Duration
	now := at(0)
	for range 8 {
		f = f.next(now, failure{reason: "Failed", node: "a"})
		pauses = append(pauses, f.until.Sub(now))
		now = f.until
	}
	const s = time.Second
	want := []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s}
	if diff := cmp.Diff(want, pauses); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if f.since != at(0) || f.count != 8 {
		t.Errorf("since %v, %d times", f.since, f.count)
	}
	if f = f.next(now, failure{reason: "Failed", node: "b"}); f.count != 1 || f.since != now {
		t.Errorf("%+v, want another Node's to begin anew", f)
	}
	if f = f.next(now, failure{reason: "Throttled", node: "b", pause: time.Hour}); f.until != now.Add(time.Hour) {
		t.Errorf("%+v, want the pause that the cloud asked for", f)
	}
	f = failure{count: 30, reason: reasonBlackhole, node: "b"}
	if f = f.next(now, failure{reason: reasonBlackhole, node: "b"}); f.until != now.Add(longestBlackhole) {
		t.Errorf("%+v, want the longest pause", f)
	}
}

func TestWhenToDecideAgain(t *testing.T) {
	stray := newRoute("s", "gone", "10.244.99.0/24")
	for _, tt := range []struct {
		name string
		o    observed
		want time.Duration
	}{
		{"TheRegularCheck", scene(1), time.Minute},
		{"StrayRoute", scene(1, listed(stray)), 29 * time.Second},
		{"Failure", scene(1, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 990, 998, 1005)), 5 * time.Second},
		{"Blind", scene(1, blind(at(1007))), 7 * time.Second},
		{"BlindAndOverdue", scene(1, blind(at(1007)), func(o *observed) { o.due = at(990) }), 7 * time.Second},
		{"NodeIsStillPatient", scene(1, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 945, 998, 1050)), 5 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := decide(tt.o).after; got != tt.want {
				t.Errorf("after %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTally(t *testing.T) {
	p := decide(scene(6, unlisted("r1"), unlisted("r2"), unlisted("r3"), unlisted("r4"),
		listed(blackhole(newRoute("b", "", "10.244.2.0/24")), newRoute("u", "", "nonsense")),
		failing("10.244.3.0/24", "uid-3", 990, 998, 1005), node("node-4", label(""))))
	want := tally{wanted: 6, present: 2, unreadable: 1, missing: map[string]int{"InProgress": 1, reasonBlackhole: 1, "Failed": 1, "Excluded": 1}}
	if diff := cmp.Diff(want, p.tally, cmp.AllowUnexported(tally{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestFailuresHeal(t *testing.T) {
	one := netip.MustParsePrefix("10.244.1.0/24")
	blackholed := remember(func(m *memory) {
		m.failures[one] = failure{count: 1, reason: reasonBlackhole, node: "uid-1", at: at(998), until: at(1005)}
	})
	made := remember(func(m *memory) { m.made[claim{one, "uid-1"}] = at(998) })
	for _, tt := range []struct {
		name string
		o    observed
		want []netip.Prefix
	}{
		{"WhenTheRouteIsListed", scene(1, failing("10.244.1.0/24", "uid-1", 990, 998, 1005)), []netip.Prefix{one}},
		{"NotWhileItIsMissing", scene(1, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 990, 998, 1005)), nil},
		{"WhenNobodyWantsItAnyMore", scene(1, without("node-1"), unlisted("r1"), failing("10.244.1.0/24", "uid-1", 990, 998, 1005)), []netip.Prefix{one}},
		{"ABlackholeOnlyByAListing", scene(1, unlisted("r1"), made, blackholed), nil},
		{"WhichShowsTheRoute", scene(1, made, blackholed), []netip.Prefix{one}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, decide(tt.o).healed, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDecideChangesNothing(t *testing.T) {
	o := scene(3, listed(strays(2)...), failing("10.244.1.0/24", "uid-1", 990, 998, 1005))
	before, suspects := fmt.Sprintf("%+v", o.memory), maps.Clone(o.memory.suspects)
	first := digest(decide(o))
	if after := fmt.Sprintf("%+v", o.memory); after != before || !maps.Equal(suspects, o.memory.suspects) {
		t.Errorf("the memory was changed from\n%s\nto\n%s", before, after)
	}
	if diff := cmp.Diff(first, digest(decide(o))); diff != "" {
		t.Errorf("the second time it decides otherwise:\n%s", diff)
	}
}

func TestTransitionTimeIsKept(t *testing.T) {
	was := networkUnavailable(corev1.ConditionFalse, at(1), nil)
	if same := networkUnavailable(corev1.ConditionFalse, at(2), &was); same.LastTransitionTime != metav1.NewTime(at(1)) {
		t.Errorf("transition at %v, though the status is the same", same.LastTransitionTime)
	}
	if other := networkUnavailable(corev1.ConditionTrue, at(2), &was); other.LastTransitionTime != metav1.NewTime(at(2)) {
		t.Errorf("transition at %v, though the status has changed", other.LastTransitionTime)
	}
}
