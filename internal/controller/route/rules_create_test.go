package route

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// createRows returns the test rows for missing routes.
func createRows() []row {
	return []row{
		{"MissingRouteIsCreated", given(1, unlisted("r1")), []string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"}},
		{"NodeThatIsBeingDeletedGetsNoRoute", given(1, unlisted("r1"), node("node-1", beingDeleted)), nil},
		{"CIDROutsideTheClusterGetsNoRoute", given(1, podCIDRs("node-1", "10.9.0.0/24"), unlisted("r1")), rejected("10.9.0.0/24")}, // upstream creates it
		{"CIDRWithEverythingGetsNoRoute", given(1, podCIDRs("node-1", "0.0.0.0/0"), unlisted("r1")), rejected("0.0.0.0/0")},
		{"CIDRWiderThanTheClustersGetsNoRoute", given(1, podCIDRs("node-1", "10.244.0.0/15"), unlisted("r1")), rejected("10.244.0.0/15")},
		{"CIDRAsWideAsTheClustersGetsNoRoute", given(1, podCIDRs("node-1", "10.244.0.0/16"), unlisted("r1")), rejected("10.244.0.0/16")},
		{"RejectedCIDRLeavesTheOthersTheirRoutes", given(1, podCIDRs("node-1", "10.244.1.0/24", "::/0"), unlisted("r1")), append(
			[]string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"}, rejected("::/0")...)},
		{
			"CIDROfAFamilyThatTheClusterLacksGetsNoRoute", given(1, podCIDRs("node-1", "10.244.1.0/24", "fd00:0:0:1::/64"), func(o *observed) { o.clusters = []netip.Prefix{pods} }),
			[]string{
				"node-1 NetworkUnavailable=True PodCIDRRejected",
				"event on node-1: No route is created for fd00:0:0:1::/64, because it is not a part of --cluster-cidr=10.244.0.0/16. " +
					"Correct --cluster-cidr, or give the Node another CIDR. --route-creation-outside-cluster-cidr allows the route.",
			},
		},
		{"PartOfAnotherNodesCIDRGetsNoRoute", given(2, podCIDRs("node-2", "10.244.1.0/25"), unlisted("r2")), taken("node-2", "10.244.1.0/25", "node-1", "10.244.1.0/24")}, // upstream creates it
		{
			"PartOfAnotherNodesCIDRGetsNoRouteIfRoutesOutsideAreAskedFor",
			given(2, podCIDRs("node-2", "10.244.1.128/32"), unlisted("r2"), func(o *observed) { o.limits.CreateOutside = true }), taken("node-2", "10.244.1.128/32", "node-1", "10.244.1.0/24"),
		},
		{
			"NodeGetsItsRouteAlthoughAnotherOneHasAPartOfItsCIDR", given(2, podCIDRs("node-2", "10.244.1.0/25"), unlisted("r1"), unlisted("r2")),
			append([]string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"}, taken("node-2", "10.244.1.0/25", "node-1", "10.244.1.0/24")...),
		},
		{
			"PartOfANodesOwnCIDRGetsItsRoute", given(2, podCIDRs("node-2", "10.244.2.0/24", "10.244.2.0/25"), unlisted("r2")),
			[]string{
				"create 10.244.2.0/24 for node-2: there is no route for its CIDR",
				"create 10.244.2.0/25 for node-2: there is no route for its CIDR",
			},
		},
		{
			"NarrowCIDROfItsOwnGetsItsRoute", given(3, podCIDRs("node-3", "10.244.9.0/25"), unlisted("r3")),
			[]string{"create 10.244.9.0/25 for node-3: there is no route for its CIDR"},
		},
		{
			"NodeThatHasAWideCIDRKeepsNoOtherFromItsRoute", given(3, podCIDRs("node-1", "10.244.0.0/17"), unlisted("r1"), unlisted("r3")),
			append([]string{"create 10.244.3.0/24 for node-3: there is no route for its CIDR"}, taken("node-1", "10.244.0.0/17", "node-2", "10.244.2.0/24")...),
		},
		{
			"PartOfTheCIDROfANodeThatIsBeingDeletedGetsItsRoute", given(2, podCIDRs("node-2", "10.244.1.0/25"), unlisted("r2"), node("node-1", beingDeleted)),
			[]string{"create 10.244.1.0/25 for node-2: there is no route for its CIDR"},
		},
		{"CIDROutsideTheClusterGetsItsRouteIfAskedFor", given(1, podCIDRs("node-1", "10.9.0.0/24"), unlisted("r1"), func(o *observed) { o.limits.CreateOutside = true }), []string{
			"create 10.9.0.0/24 for node-1: there is no route for its CIDR",
		}},
		{
			"BlackholeOutsideTheClusterIsNotReplaced", given(1, podCIDRs("node-1", "10.9.0.0/24"), unlisted("r1"), listed(blackhole(newRoute("o", "node-1", "10.9.0.0/24")))),
			rejected("10.9.0.0/24"),
		},
		{"RouteOutsideTheClusterServesItsNode", given(1, podCIDRs("node-1", "10.9.0.0/24"), unlisted("r1"),
			listed(newRoute("o", "node-1", "10.9.0.0/24"))), nil},
		{"UnmaskedCIDROfTheNodeMatches", given(1, node("node-1", func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.244.1.7/24"} })), nil},
		{"UnmaskedCIDROfTheRouteMatches", given(1, unlisted("r1"), listed(newRoute("r1", "node-1", "10.244.1.7/24"))), nil},
		{"PendingJobIsNotRepeated", given(1, unlisted("r1"), pending("10.244.1.0/24", 999)), nil},
	}
}

// rejected returns the digest for node-1 if its CIDR gets no route.
func rejected(cidr string) []string {
	return []string{
		"node-1 NetworkUnavailable=True PodCIDRRejected",
		"event on node-1: No route is created for " + cidr + ", because it is not a part of --cluster-cidr=10.244.0.0/16,fd00::/48. " +
			"Correct --cluster-cidr, or give the Node another CIDR. --route-creation-outside-cluster-cidr allows the route.",
	}
}

// taken returns the digest for a Node if its CIDR overlaps with that of another one.
func taken(node, cidr, other, held string) []string {
	return []string{
		node + " NetworkUnavailable=True PodCIDRRejected",
		"event on " + node + ": No route is kept for " + cidr + ", because it overlaps with " + held + ", which Node " + other + " has. " +
			"The route would take the traffic of that Node's pods. Give this Node another CIDR.",
		"event on " + other + ": Node " + node + " claims " + cidr + ", which overlaps with this Node's CIDR " + held + ". Node " + node + " gets no route for it. " +
			"If nobody has given it this CIDR, its kubelet may be hostile.",
	}
}

func TestCreate(t *testing.T) { check(t, createRows()) }

func TestRemovalComesBeforeCreation(t *testing.T) {
	p := decide(given(2, unlisted("r1"), listed(newRoute("m", "node-2", "10.244.1.0/24"))))
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

// The method recheck relies on removal.unclaimed, which is true if the target of the
// route does not claim the CIDR.
func TestRemovalKnowsWhetherItsTargetClaims(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    observed
		want bool
	}{
		{"TargetDoesNotClaim", given(2, unlisted("r1"), listed(moved)), true},
		{"TargetClaims", given(1, unlisted("r1"), listed(addressed(newRoute("r1", "node-1", "10.244.1.0/24"), "10.0.0.9"))), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := decide(tt.o).jobs[0].remove[0].unclaimed; got != tt.want {
				t.Errorf("unclaimed: %v, want %v", got, tt.want)
			}
		})
	}
}

// After a wait, a job does only the part that is still necessary.
func TestRecheck(t *testing.T) {
	old := newRoute("old", "node-9", "10.244.1.0/24")
	whole := []string{"remove old: moved", "create 10.244.1.0/24 for node-1: missing"}
	for _, tt := range []struct {
		name      string
		unclaimed bool
		o         observed
		want      []string
	}{
		{"UnchangedJobIsDone", true, given(1), whole},
		{"JobOfADeletedNodeIsDropped", true, given(1, without("node-1")), nil},
		{"JobOfANodeThatIsBeingDeletedIsDropped", true, given(1, node("node-1", beingDeleted)), nil},
		{"JobOfAReplacedNodeIsDropped", true, given(1, node("node-1", func(n *corev1.Node) { n.UID = "uid-7" })), nil},
		{"JobOfANodeWithAnotherCIDRIsDropped", true, given(1, node("node-1", func(n *corev1.Node) { n.Spec.PodCIDRs = nil })), nil},
		{"TargetThatClaimsTheCIDRNowKeepsItsRoute", true, given(9, node("node-9", withCIDR("10.244.1.0/24"))), whole[1:]},
		{"TargetThatClaimedTheCIDRBeforeLosesIt", false, given(9, node("node-9", withCIDR("10.244.1.0/24"))), whole},
		{"TargetWithoutTheCIDRLosesIt", true, given(9), whole},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := job{
				cidr: netip.MustParsePrefix("10.244.1.0/24"), remove: []removal{{old, "moved", tt.unclaimed}},
				create: &creation{node: newNode(1), why: "missing"},
			}
			got := j.recheck(func(name string) *corev1.Node {
				at := slices.IndexFunc(tt.o.nodes, func(n *corev1.Node) bool { return n.Name == name })
				if at < 0 {
					return nil
				}
				return tt.o.nodes[at]
			})
			if diff := cmp.Diff(tt.want, digest(plan{jobs: []job{got}})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(j.remove) != 1 {
				t.Error("the job that was checked has changed")
			}
		})
	}
}
