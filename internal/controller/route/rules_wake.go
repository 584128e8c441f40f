package route

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// wake is the effect of a change of a Node on the plan.
type wake string

const (
	// noWake: the plan stays the same.
	noWake wake = ""
	// wakeConditions: conditions of Nodes might have to change, but no routes. No new
	// listing is needed.
	wakeConditions wake = "a condition has changed"
	// wakeRoutes: routes might have to change. A listing that is older than the
	// change cannot cause the removal of a route.
	wakeRoutes wake = "a Node has changed"
)

// wakeOf returns the effect of a change of a Node on the plan. It compares all fields
// of a Node that the function decide reads. The effect of a new or deleted Node is
// always wakeRoutes.
func wakeOf(claim ownership.Claim, before, now *corev1.Node) wake {
	_, was := claim.Disowns(before)
	_, is := claim.Disowns(now)
	switch {
	case isReplaced(before, now),
		!slices.Equal(before.Spec.PodCIDRs, now.Spec.PodCIDRs),
		!apiequality.Semantic.DeepEqual(before.Status.Addresses, now.Status.Addresses),
		(before.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil),
		was != is:
		return wakeRoutes
	case networkCondition(before) != networkCondition(now):
		return wakeConditions
	default:
		return noWake
	}
}

// isReplaced reports whether before and now are different Nodes with the same name.
// If they are, the informer has missed the deletion between them.
func isReplaced(before, now *corev1.Node) bool { return before.UID != now.UID }

// networkCondition returns the condition NetworkUnavailable without its message and
// heartbeat, which decide does not read.
func networkCondition(node *corev1.Node) corev1.NodeCondition {
	c := nodefact.Condition(node, corev1.NodeNetworkUnavailable)
	if c == nil {
		return corev1.NodeCondition{}
	}
	return corev1.NodeCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime}
}
