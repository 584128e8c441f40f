package route

import (
	"net/netip"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// conditionRows returns the test rows for the condition of a Node.
func conditionRows() []row {
	return []row{
		{"NewNodeWithItsRouteIsReachable", given(1, node("node-1", noCondition)), []string{"node-1 NetworkUnavailable=False RouteCreated"}},
		{"NewNodeWaitsForItsFirstRoute", given(1, unlisted("r1"), node("node-1", noCondition), pending("10.244.1.0/24", 941)), nil},
		{
			"NewNodeIsUnreachableAfterAMinute", given(1, unlisted("r1"), node("node-1", noCondition), pending("10.244.1.0/24", 940)),
			[]string{"node-1 NetworkUnavailable=True NoRouteCreated"},
		},
		{
			"NewNodeIsUnreachableAtTheFirstFailure", given(1, unlisted("r1"), node("node-1", noCondition), failing("10.244.1.0/24", "uid-1", 998, 998, 1001)),
			[]string{"node-1 NetworkUnavailable=True NoRouteCreated"},
		},
		{"ReachableNodeStaysSoForAMinute", given(1, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 941, 998, 1001)), nil},
		{"ReachableNodeIsUnreachableAfterAMinute", given(1, unlisted("r1"), failing("10.244.1.0/24", "uid-1", 940, 998, 1001)), []string{"node-1 NetworkUnavailable=True NoRouteCreated"}},
		{"UnreachableNodeIsNotWrittenAgain", given(1, unlisted("r1"), node("node-1", condition(corev1.ConditionTrue, "NoRouteCreated")), failing("10.244.1.0/24", "uid-1", 998, 998, 1001)), nil},
		{"UnreachableNodeWithItsRouteIsReachable", given(1, node("node-1", condition(corev1.ConditionTrue, "NoRouteCreated"))), []string{"node-1 NetworkUnavailable=False RouteCreated"}},
		{"ConditionOfAPluginStays", given(1, node("node-1", condition(corev1.ConditionFalse, "CalicoIsUp"))), nil}, // upstream overwrites it
		{"ConditionOfAPluginStaysWithoutARoute", given(1, unlisted("r1"), node("node-1", condition(corev1.ConditionFalse, "CalicoIsUp")), failing("10.244.1.0/24", "uid-1", 0, 998, 1001)), nil},
		{"UnavailableConditionOfAPluginStays", given(1, node("node-1", foreignFor(time.Minute))), nil},
		{"ForeignConditionIsReportedAfterFiveMinutes", given(1, node("node-1", foreignFor(5*time.Minute))), []string{"node-1 reports CalicoIsDown"}},
		{"ForeignConditionIsNotReportedAtOnce", given(1, node("node-1", foreignFor(5*time.Minute-1))), nil},
		{"ForeignConditionIsReportedOnce", given(1, node("node-1", foreignFor(time.Hour)), reportedForeign("CalicoIsDown", time.Hour)), nil},
		{"OtherForeignConditionIsReportedAgain", given(1, node("node-1", foreignFor(time.Hour)), reportedForeign("FlannelIsDown", time.Hour)), []string{"node-1 reports CalicoIsDown"}},
		{"ForeignConditionThatCameBackIsReportedAgain", given(1, node("node-1", foreignFor(time.Hour)), reportedForeign("CalicoIsDown", 2*time.Hour)), []string{"node-1 reports CalicoIsDown"}},
		{"ForeignConditionOfANodeWithoutItsRouteIsNotReported", given(1, node("node-1", foreignFor(time.Hour)), unlisted("r1"), failing("10.244.1.0/24", "uid-1", 0, 998, 1001)), nil},
		{"ForeignConditionIsAdoptedAfterTheTime", given(1, node("node-1", foreignFor(time.Hour)), adopting(time.Hour)), []string{"node-1 NetworkUnavailable=False RouteCreated"}},
		{"ForeignConditionIsReportedBeforeItIsAdopted", given(1, node("node-1", foreignFor(time.Hour-1)), adopting(time.Hour)), []string{"node-1 reports CalicoIsDown"}},
		{"ForeignConditionThatKeepsNoPodsAwayIsNotAdopted", given(1, node("node-1", condition(corev1.ConditionFalse, "CalicoIsUp")), adopting(time.Hour)), nil},
		{"ForeignConditionOfANodeWithoutItsRouteIsNotAdopted", given(1, node("node-1", foreignFor(time.Hour)), adopting(time.Hour), unlisted("r1"), failing("10.244.1.0/24", "uid-1", 0, 998, 1001)), nil},
		{"AdoptedConditionIsNotAdoptedAgainWithin5Minutes", given(1, node("node-1", foreignFor(time.Hour)), adopting(time.Hour), patchedFalse(701)), nil},
		{"NodeNeedsTheRoutesOfBothFamilies", given(1, node("node-1", func(n *corev1.Node) { withCIDR("fd00:0:0:1::/64")(n); noCondition(n) }),
			failing("fd00:0:0:1::/64", "uid-1", 998, 998, 1001)), []string{"node-1 NetworkUnavailable=True NoRouteCreated"}},
		{"NodeWithBothFamiliesIsReachable", given(1, node("node-1", func(n *corev1.Node) { withCIDR("fd00:0:0:1::/64")(n); noCondition(n) }),
			listed(newRoute("r6", "node-1", "fd00:0:0:1::/64"))), []string{"node-1 NetworkUnavailable=False RouteCreated"}},
		{"NodeWithoutCIDRsIsNotWritten", given(0, func(o *observed) {
			n := newNode(1)
			n.Spec.PodCIDRs = nil
			noCondition(n)
			o.nodes = append(o.nodes, n)
		}), nil},
		{"NodeWithoutCIDRsAndWithARouteIsUnreachable", given(1, node("node-1", func(n *corev1.Node) { n.Spec.PodCIDRs = nil })), []string{"node-1 NetworkUnavailable=True NoRouteCreated"}},
		{"ExcludedNodeIsNotWritten", given(1, node("node-1", func(n *corev1.Node) { noCondition(n); label("")(n) })), nil},
		{"NodeThatIsBeingDeletedIsNotWritten", given(1, node("node-1", func(n *corev1.Node) { noCondition(n); beingDeleted(n) })), nil},
		{"ConditionIsNotRewrittenWithin5Minutes", given(1, node("node-1", noCondition), patchedFalse(701)), nil},
		{
			"ConditionIsRewrittenAfter5Minutes", given(1, node("node-1", noCondition), patchedFalse(700)),
			[]string{"node-1 NetworkUnavailable=False RouteCreated"},
		},
		{"ReachableNodeWithARejectedCIDRIsUnreachableAfterAMinute", given(1, podCIDRs("node-1", "10.9.0.0/24"), node("node-1", registeredAt(940))), rejected("10.9.0.0/24")},
		{"ReachableNodeWithARejectedCIDRStaysSoForAMinute", given(1, podCIDRs("node-1", "10.9.0.0/24"), node("node-1", registeredAt(941))), nil},
		{"ReachableNodeWithARejectedCIDRStaysSoWhileListingsFail", given(1, podCIDRs("node-1", "10.9.0.0/24"), unlisted("r1"), listingFailing(at(1007))), nil},
		{"RejectedCIDRIsShownOnce", given(1, podCIDRs("node-1", "10.9.0.0/24"), node("node-1", condition(corev1.ConditionTrue, "PodCIDRRejected"))), rejected("10.9.0.0/24")[1:]},
		{"RejectedCIDRReplacesAnotherReasonAtOnce", given(1, podCIDRs("node-1", "10.9.0.0/24"), node("node-1", condition(corev1.ConditionTrue, "NoRouteCreated")),
			remember(func(m *memory) { m.patched["uid-1"] = patched{corev1.ConditionTrue, "NoRouteCreated", at(999)} })), rejected("10.9.0.0/24")},
		{"RejectedCIDRWithARouteIsReachable", given(1, podCIDRs("node-1", "10.9.0.0/24"), listed(newRoute("o", "node-1", "10.9.0.0/24")),
			node("node-1", condition(corev1.ConditionTrue, "PodCIDRRejected"))), []string{"node-1 NetworkUnavailable=False RouteCreated"}},
		{
			"RejectedCIDRWithARouteIsNotWhyAnotherOneHasNone", given(1, podCIDRs("node-1", "10.9.0.0/24", "10.244.1.0/24"), unlisted("r1"),
				listed(newRoute("o", "node-1", "10.9.0.0/24")), node("node-1", noCondition), failing("10.244.1.0/24", "uid-1", 998, 998, 1001)),
			[]string{"node-1 NetworkUnavailable=True NoRouteCreated"},
		},
		{"NodeWithABlackholeIsUnreachable", given(1, unlisted("r1"), listed(broken), node("node-1", noCondition), func(o *observed) {
			o.memory.created[claim{netip.MustParsePrefix("10.244.1.0/24"), "uid-1"}] = at(998)
			o.memory.failures[netip.MustParsePrefix("10.244.1.0/24")] = failure{count: 1, since: at(998), at: at(998), until: at(1005), kind: kindBlackhole, node: "uid-1"}
		}), []string{"hold r1: it leads nowhere" + waits, "node-1 NetworkUnavailable=True NoRouteCreated"}}, // upstream writes False
	}
}

func TestCondition(t *testing.T) { check(t, conditionRows()) }
