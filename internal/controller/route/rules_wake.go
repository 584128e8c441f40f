package route

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// wake is what a change of a Node means for the plan.
type wake string

const (
	// noWake: the plan stays the same.
	noWake wake = ""
	// wakeConditions: only conditions of Nodes may have to change. No new
	// listing is needed.
	wakeConditions wake = "a condition has changed"
	// wakeRoutes: routes may have to change. No route is removed because of a listing
	// that is older than the change.
	wakeRoutes wake = "a Node has changed"
)

// wakeOf returns what a change of a Node means for the plan. It compares all
// fields of a Node that the function decide reads. It is not needed for new and deleted Nodes, which
// always mean wakeRoutes.
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

// isReplaced reports whether two observations of one name are two Nodes. Then the
// informer has missed the deletion between them.
func isReplaced(before, now *corev1.Node) bool { return before.UID != now.UID }

// networkCondition returns what decide reads of the condition
// NetworkUnavailable, which is all but its message and heartbeat.
func networkCondition(node *corev1.Node) corev1.NodeCondition {
	c := nodefact.Condition(node, corev1.NodeNetworkUnavailable)
	if c == nil {
		return corev1.NodeCondition{}
	}
	return corev1.NodeCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime}
}
