package route

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

const waits = ": removed if this lasts for 30s"

// removeRows returns the test rows for listed routes. Where upstream differs, a comment
// says what upstream does (upstream-behaviour 5.2, 10.3). docs/reference/routes.md
// names the rows.
func removeRows() []row {
	return []row{
		// What stays.
		{"RouteOfTheNodeStays", given(3), nil},
		{"RouteOutsideTheClusterStays", given(1, listed(newRoute("o", "gone", "10.9.0.0/24"))), nil},
		{"WiderRouteStays", given(1, listed(newRoute("w", "gone", "10.244.0.0/15"))), nil},                 // upstream deletes it
		{"WiderRouteWithItsEndInsideStays", given(1, listed(newRoute("w", "gone", "10.240.0.0/12"))), nil}, // upstream keeps it
		{"RouteAsWideAsTheClusterStays", given(1, listed(newRoute("w", "gone", "10.244.0.0/16"))), nil},
		{"RouteWithUnreadableDestinationStays", given(1, listed(newRoute("u", "gone", "10.244.99.0"))), nil},
		{"RouteWithoutInstanceStays", given(1, listed(gateway)), nil}, // upstream deletes it
		{
			"RouteWithoutInstanceServesNoNode", given(1, unlisted("r1"), listed(newRoute("e", "", "10.244.1.0/24"))),
			[]string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"},
		},
		{"UnclaimedCIDRThroughALiveNodeStays", given(2, listed(newRoute("x", "node-1", "10.244.99.0/24"))), nil},                                             // upstream deletes it
		{"RouteToANodeWithoutCIDRsStays", given(1, node("node-1", func(n *corev1.Node) { n.Spec.PodCIDRs = nil; n.CreationTimestamp.Time = at(990) })), nil}, // upstream deletes it
		{"RouteToANodeThatIsBeingDeletedStays", given(2, node("node-1", beingDeleted)), nil},
		{"RouteToAnExcludedNodeStays", given(1, listed(newRoute("x", "node-1", "10.244.99.0/24")), node("node-1", label("")), nodeDeleted("node-1", "10.244.99.0/24")), nil},
		{"RouteToANodeThatExcludesItselfGoesWithTheFlag", given(1, listed(newRoute("x", "node-1", "10.244.99.0/24")), node("node-1", label("")), nodeDeleted("node-1", "10.244.99.0/24"), restricted), []string{"remove x: Node node-1 was deleted"}},
		{"RouteOfAForeignNodeStays", given(1, listed(newRoute("x", "node-1", "10.244.99.0/24")), nodeDeleted("node-1", "10.244.99.0/24"), others("node-1")), nil},
		{"ForeignNodeGetsNoRoute", given(2, unlisted("r1"), others("node-1")), nil},
		{"RouteForAnExcludedNodeStays", given(2, unlisted("r1"), listed(moved), node("node-1", label("true"))), nil},
		{"ExclusionLabelWithValueFalseDoesNotCount", given(2, unlisted("r1"), node("node-1", label("false"))), []string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"}},
		{
			"OfTwoClaimantsTheOneWithTheRouteKeepsIt", given(2, unlisted("r1"), listed(moved), node("node-2", withCIDR("10.244.1.0/24"))),
			taken("node-1", "10.244.1.0/24", "node-2", "10.244.1.0/24"),
		},
		{
			"OfTwoClaimantsWithRoutesTheOlderKeepsIt", given(2, listed(moved), strayFor(moved, time.Minute), node("node-2", withCIDR("10.244.1.0/24"))),
			append([]string{"remove m: its CIDR belongs to Node node-1, which has a route"}, taken("node-2", "10.244.1.0/24", "node-1", "10.244.1.0/24")...),
		},
		{
			"OfTwoClaimantsTheOlderGetsTheRoute", given(2, unlisted("r1"), node("node-2", withCIDR("10.244.1.0/24"))),
			append([]string{"create 10.244.1.0/24 for node-1: there is no route for its CIDR"}, taken("node-2", "10.244.1.0/24", "node-1", "10.244.1.0/24")...),
		},
		{
			"OfTwoClaimantsTheOneThatHasHadItForLongerGetsTheRoute", given(2, unlisted("r1"), node("node-2", withCIDR("10.244.1.0/24")), cidrsSince(1, 999), cidrsSince(2, 998)),
			append([]string{"create 10.244.1.0/24 for node-2: there is no route for its CIDR"}, taken("node-1", "10.244.1.0/24", "node-2", "10.244.1.0/24")...),
		},
		{
			"OfTwoClaimantsABlackholeDoesNotCount", given(2, unlisted("r1"), listed(blackhole(moved)), node("node-2", withCIDR("10.244.1.0/24"))),
			append([]string{"create 10.244.1.0/24 for node-1: the route of its CIDR leads nowhere"}, taken("node-2", "10.244.1.0/24", "node-1", "10.244.1.0/24")...),
		},
		{
			"RouteOfAPartOfAnotherNodesCIDRGoes", given(3, podCIDRs("node-2", "10.244.1.128/25"), unlisted("r2"), listed(part), strayFor(part, time.Minute)),
			append([]string{"remove p: its CIDR overlaps with 10.244.1.0/24 of Node node-1"}, taken("node-2", "10.244.1.128/25", "node-1", "10.244.1.0/24")...),
		},
		{
			"RouteOfAPartWaits", given(3, podCIDRs("node-2", "10.244.1.128/25"), unlisted("r2"), listed(part)),
			append([]string{"hold p: its CIDR overlaps with 10.244.1.0/24 of Node node-1" + waits}, taken("node-2", "10.244.1.128/25", "node-1", "10.244.1.0/24")...),
		},
		{
			"RouteOfAPartGoesAlthoughItsNodeCameFirst", given(3, podCIDRs("node-2", "10.244.3.128/25"), unlisted("r2"), unlisted("r3"), listed(earlier), strayFor(earlier, time.Minute)),
			append([]string{
				"create 10.244.3.0/24 for node-3: there is no route for its CIDR", "remove p: its CIDR overlaps with 10.244.3.0/24 of Node node-3",
			}, taken("node-2", "10.244.3.128/25", "node-3", "10.244.3.0/24")...),
		},
		{
			"RouteAroundAnotherNodesCIDRGoes", given(3, podCIDRs("node-1", "10.244.0.0/17"), unlisted("r1"), listed(around), strayFor(around, time.Minute)),
			append([]string{"remove w: its CIDR overlaps with 10.244.2.0/24 of Node node-2"}, taken("node-1", "10.244.0.0/17", "node-2", "10.244.2.0/24")...),
		},
		{
			"OfTwoCommonLengthsTheOlderNodeKeepsItsRoute",
			given(4, podCIDRs("node-1", "10.244.3.0/25"), podCIDRs("node-2", "10.244.9.0/25"), unlisted("r1"), unlisted("r2"),
				listed(newRoute("p1", "node-1", "10.244.3.0/25"), newRoute("p2", "node-2", "10.244.9.0/25")), strayFor(newRoute("r3", "node-3", "10.244.3.0/24"), time.Minute)),
			append([]string{"remove r3: its CIDR overlaps with 10.244.3.0/25 of Node node-1"}, taken("node-3", "10.244.3.0/24", "node-1", "10.244.3.0/25")...),
		},
		{
			"OfTwoCommonLengthsTheNodeWithTheRouteKeepsIt",
			given(4, podCIDRs("node-1", "10.244.3.0/25"), podCIDRs("node-2", "10.244.9.0/25"), unlisted("r1"), unlisted("r2"), listed(newRoute("p2", "node-2", "10.244.9.0/25"))),
			taken("node-1", "10.244.3.0/25", "node-3", "10.244.3.0/24"),
		},
		{
			"RouteOfAPartOfAnExcludedNodesCIDRGoes", given(3, podCIDRs("node-2", "10.244.1.128/25"), unlisted("r2"), listed(part), strayFor(part, time.Minute), node("node-1", label("true"))),
			append([]string{"remove p: its CIDR overlaps with 10.244.1.0/24 of Node node-1"}, taken("node-2", "10.244.1.128/25", "node-1", "10.244.1.0/24")...),
		},
		{
			"RouteOfAPartStaysIfAnExcludedNodeHasNoRouteForTheWhole",
			given(3, podCIDRs("node-2", "10.244.1.128/25"), unlisted("r1"), unlisted("r2"), listed(part), strayFor(part, time.Minute), node("node-1", label("true"))), nil,
		},
		{
			"NodeThatExcludesItselfKeepsNoRouteOfAPart", given(3, podCIDRs("node-2", "10.244.1.128/25"), unlisted("r2"), listed(part), strayFor(part, time.Minute), node("node-2", label("true"))),
			[]string{"remove p: its CIDR overlaps with 10.244.1.0/24 of Node node-1"},
		},
		{
			"NodeThatAnOperatorExcludesKeepsItsRouteOfAPart", given(3, podCIDRs("node-2", "10.244.1.128/25"), unlisted("r2"), listed(part), strayFor(part, time.Minute), node("node-2", func(n *corev1.Node) {
				n.Labels = map[string]string{ownership.LabelExcludeRestricted: "true"}
			})), nil,
		},
		{
			"NodeThatIsBeingDeletedKeepsNoRouteOfAPart", given(3, podCIDRs("node-2", "10.244.1.128/25"), unlisted("r2"), listed(part), strayFor(part, time.Minute), node("node-2", beingDeleted)),
			[]string{"remove p: its CIDR overlaps with 10.244.1.0/24 of Node node-1"},
		},
		{
			"RouteOfAPartThatAHiddenNodeClaimsGoes", given(4, podCIDRs("node-2", "10.244.1.128/25"), unlisted("r2"), listed(part), strayFor(part, time.Minute), node("node-2", beingDeleted),
				podCIDRs("node-3", "10.244.1.128/25"), unlisted("r3"), node("node-3", label("true"))),
			[]string{"remove p: its CIDR overlaps with 10.244.1.0/24 of Node node-1"},
		},
		{
			"RouteOfAPartThatNoNodeClaimsGoes", given(3, listed(part), strayFor(part, time.Minute)),
			[]string{"remove p: its CIDR overlaps with 10.244.1.0/24 of Node node-1"},
		},
		{"RouteOfAPartOfItsOwnNodesCIDRStays", given(3, listed(newRoute("own", "node-1", "10.244.1.128/25")), strayFor(newRoute("own", "node-1", "10.244.1.128/25"), time.Minute)), nil},
		{"RouteToASecondNodeOfTheNameThatIsBeingDeletedStays", given(2, node("node-1", beingDeleted), nodeDeleted("node-1", "10.244.1.0/24")), nil},

		{"DuplicateStays", given(1, listed(duplicate), strayFor(duplicate, time.Hour)), nil}, // the duplicate might belong to another table

		// What goes at once.
		{"CIDROfANodeThatIsBeingDeletedMoves", given(2, unlisted("r1"), listed(newRoute("m", "node-2", "10.244.1.0/24")), node("node-2", beingDeleted),
			node("node-2", withCIDR("10.244.1.0/24"))), []string{
			"remove m: its CIDR now belongs to Node node-1", "create 10.244.1.0/24 for node-1: there is no route for its CIDR",
		}},
		{"MovedCIDRIsReplaced", given(2, unlisted("r1"), listed(moved)), []string{
			"remove m: its CIDR now belongs to Node node-1", "create 10.244.1.0/24 for node-1: there is no route for its CIDR",
		}},
		{"MovedCIDROfAnUnknownNodeIsReplaced", given(1, unlisted("r1"), listed(newRoute("m", "gone", "10.244.1.0/24"))), []string{
			"remove m: its CIDR now belongs to Node node-1", "create 10.244.1.0/24 for node-1: there is no route for its CIDR",
		}},
		{"MovedCIDRWithItsNewRouteLosesTheOldOne", given(2, listed(moved)), []string{"remove m: its CIDR now belongs to Node node-1"}},
		{"RouteOfADeletedNodeGoes", given(2, without("node-1"), nodeDeleted("node-1", "10.244.1.0/24")), []string{"remove r1: Node node-1 was deleted"}},
		{"OldRouteOfAReplacedNodeGoes", given(1, listed(newRoute("old", "node-1", "10.244.99.0/24")), nodeDeleted("node-1", "10.244.99.0/24")), []string{"remove old: Node node-1 was deleted"}},
		{"RouteStaysWhereTheNewNodeHasTheCIDR", given(1, nodeDeleted("node-1", "10.244.1.0/24")), nil},
		{"ForeignRouteToAReplacedNodeStays", given(1, listed(newRoute("x", "node-1", "10.244.98.0/24")), nodeDeleted("node-1", "10.244.99.0/24")), nil},
		{"RouteWithOldAddressesIsReplaced", given(1, unlisted("r1"), listed(addressed(newRoute("r1", "node-1", "10.244.1.0/24"), "10.0.0.9"))), []string{
			"remove r1: the addresses of Node node-1 have changed", "create 10.244.1.0/24 for node-1: there is no route for its CIDR",
		}},
		{"NewRouteWithOldAddressesIsReplaced", given(1, unlisted("r1"), listed(addressed(newRoute("r1", "node-1", "10.244.1.0/24"), "10.0.0.9")), created("10.244.1.0/24", "uid-1")), []string{
			"remove r1: the addresses of Node node-1 have changed", "create 10.244.1.0/24 for node-1: there is no route for its CIDR",
		}},
		{"RouteWithOneAddressTooManyIsReplaced", given(1, unlisted("r1"), listed(addressed(newRoute("r1", "node-1", "10.244.1.0/24"), "10.0.0.1", "10.0.0.9"))), []string{
			"remove r1: the addresses of Node node-1 have changed", "create 10.244.1.0/24 for node-1: there is no route for its CIDR",
		}},
		{"RouteWithTheNodesAddressesStays", given(1, unlisted("r1"), listed(addressed(newRoute("r1", "node-1", "10.244.1.0/24"), "10.0.0.1"))), nil},
		{"AddressesAreIgnoredWhereTheProviderKeepsNone", given(1, unlisted("r1"), listed(func() route {
			r := addressed(newRoute("r1", "node-1", "10.244.1.0/24"), "10.0.0.9")
			r.addressed = false
			return r
		}())), nil},
		{"RouteToANodeWithoutAddressesStays", given(1, unlisted("r1"), listed(addressed(newRoute("r1", "node-1", "10.244.1.0/24"), "10.0.0.1")),
			node("node-1", func(n *corev1.Node) { n.Status.Addresses = nil })), nil},

		// What goes once listings agree.
		{"RouteToAnUnknownNodeWaits", given(1, listed(unknown)), []string{"hold s: there is no Node gone" + waits}},
		{"RouteToAnUnknownNodeWaitsFor30Seconds", given(1, listed(unknown), strayFor(unknown, 28*time.Second)), []string{"hold s: there is no Node gone" + waits}},
		{"RouteToAnUnknownNodeGoesAfter30Seconds", given(1, listed(unknown), strayFor(unknown, 30*time.Second)), []string{"remove s: there is no Node gone"}},
		{"UnclaimedBlackholeGoes", given(1, listed(unclaimed), strayFor(unclaimed, time.Minute)), []string{"remove b: it leads nowhere"}},
		{"BlackholeOfANodeIsReplaced", given(1, unlisted("r1"), listed(broken)), []string{ // upstream deletes the route and calls the node reachable
			"create 10.244.1.0/24 for node-1: the route of its CIDR leads nowhere", "hold r1: it leads nowhere" + waits}},
		{"BlackholeOfANodeGoesWhenListingsAgree", given(1, unlisted("r1"), listed(broken), strayFor(broken, time.Minute)), []string{
			"remove r1: it leads nowhere", "create 10.244.1.0/24 for node-1: the route of its CIDR leads nowhere",
		}},
		{"BlackholeOfANodeWithAnotherCIDRWaits", given(1, listed(blackhole(newRoute("b", "node-1", "10.244.99.0/24")))), []string{"hold b: it leads nowhere" + waits}},
		{"MovedBlackholeIsReplaced", given(2, unlisted("r1"), listed(blackhole(moved))), []string{
			"remove m: its CIDR now belongs to Node node-1", "create 10.244.1.0/24 for node-1: the route of its CIDR leads nowhere",
		}},
		{"BlackholeWithoutTargetWaits", given(1, unlisted("r1"), listed(blackhole(newRoute("b", "", "10.244.1.0/24")))), []string{
			"create 10.244.1.0/24 for node-1: the route of its CIDR leads nowhere", "hold b: it leads nowhere" + waits,
		}}, // the blackhole may lead to node-1, because the provider may not have found its target yet
		{"DuplicateWaits", given(1, listed(duplicate), pruning), []string{"hold r1b: it duplicates another route" + waits}},
		{"DuplicateGoesWhenListingsAgree", given(1, listed(duplicate), strayFor(duplicate, time.Minute), pruning), []string{"remove r1b: it duplicates another route"}},
		{"DuplicateOfTheSameNameStays", given(1, listed(newRoute("r1", "node-1", "10.244.1.0/24")), pruning), nil},
		{"DuplicateWithoutNameStays", given(1, listed(newRoute("", "node-1", "10.244.1.0/24")), pruning), nil},
		{"OverBudgetWaits", given(1, listed(strays(4)...), allStrayFor(time.Minute)), kept(4, 5)},
		{"WithinBudgetGoes", given(1, listed(strays(3)...), allStrayFor(time.Minute)), []string{
			"remove s1: there is no Node gone-1", "remove s2: there is no Node gone-2", "remove s3: there is no Node gone-3",
		}},
		{"BudgetIsAlsoAPercentage", given(90, listed(strays(10)...), allStrayFor(time.Minute)), removed(10)},
		{"OverBudgetGoesAfter10Minutes", given(1, listed(strays(4)...), allStrayFor(10*time.Minute)), removed(4)},
		{"NewStraysUseTheBudgetToo", given(1, listed(strays(3)...), allStrayFor(time.Minute), listed(newRoute("s4", "gone-4", "10.244.204.0/24"))), append(kept(3, 5),
			"hold s4: there is no Node gone-4"+waits)},
		{"DeletedNodesUseNoBudget", given(6, func(o *observed) {
			for i := 1; i <= 5; i++ {
				without(fmt.Sprintf("node-%d", i))(o)
				nodeDeleted(fmt.Sprintf("node-%d", i))(o)
			}
		}), []string{
			"remove r1: Node node-1 was deleted", "remove r2: Node node-2 was deleted", "remove r3: Node node-3 was deleted",
			"remove r4: Node node-4 was deleted", "remove r5: Node node-5 was deleted",
		}},
	}
}

func TestRemove(t *testing.T) { check(t, removeRows()) }

func removed(n int) []string {
	var lines []string
	for i := 1; i <= n; i++ {
		lines = append(lines, fmt.Sprintf("remove s%d: there is no Node gone-%d", i, i))
	}
	return lines
}

// kept returns the digest of n stray routes that the budget keeps. The second parameter
// is the number of all listed routes, four of which are stray.
func kept(n, all int) []string {
	var lines []string
	for i := 1; i <= n; i++ {
		lines = append(lines, fmt.Sprintf("hold s%d: there is no Node gone-%d: 4 of %d routes are stray, more than the budget of max(3, 10 %%); removed if this lasts for 10m0s", i, i, all))
	}
	return lines
}

func TestOverBudgetAreThoseThatOnlyTheBudgetKeeps(t *testing.T) {
	fresh := newRoute("f", "gone", "10.244.210.0/24")
	for _, tt := range []struct {
		name string
		o    observed
		want int
	}{
		{"NewStraysAreNotOverBudget", given(1, listed(strays(4)...)), 0},
		{"StraysOf30SecondsAreOverBudget", given(1, listed(strays(4)...), allStrayFor(30*time.Second)), 4},
		{"NewStrayBesideOlderOnesIsNotOverBudget", given(1, listed(fresh), listed(strays(4)...), allStrayFor(time.Minute)), 4},
		{"FewStraysAreNotOverBudget", given(1, listed(fresh), listed(strays(2)...), allStrayFor(time.Minute)), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := decide(tt.o)
			if len(p.overBudget) != tt.want {
				t.Fatalf("%d routes, want %d: %+v", len(p.overBudget), tt.want, p.overBudget)
			}
			if tt.want > 0 && !strings.Contains(deletionHeld(p.overBudget).Message, "4 stray routes") {
				t.Errorf("message %q", deletionHeld(p.overBudget).Message)
			}
		})
	}
}

// The time between two listings is measured from the answer of the first to the
// beginning of the second.
func TestRouteIsStraySinceTheAnswer(t *testing.T) {
	unknown := newRoute("r9", "gone", "10.244.9.0/24")
	o := given(1, func(o *observed) { o.memory.listing.routes = append(o.memory.listing.routes, unknown) })
	o.memory.listing.at, o.memory.listing.answered = at(980), at(999)
	if got := decide(o).strays[unknown.identity]; !got.Equal(at(999)) {
		t.Errorf("stray since %v, want %v", got, at(999))
	}
}
