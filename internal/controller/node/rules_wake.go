package node

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// wakes reports whether a change of a Node requires a pass, because a decision reads
// the changed field. Such a pass ends the delay of a waiting Node, so it must be rare.
// Heartbeats do not count, and neither do annotations that this controller does not
// read. The condition of a waiting Node does not count, because this controller writes
// it. Even if somebody else changes it, the Node has another pass after at most
// longestPause.
func wakes(claim ownership.Claim, before, now *corev1.Node) bool {
	_, was := claim.Disowns(before)
	_, is := claim.Disowns(now)
	return was != is ||
		before.UID != now.UID ||
		before.Spec.ProviderID != now.Spec.ProviderID ||
		before.Annotations[AnnotationLabels] != now.Annotations[AnnotationLabels] ||
		before.Annotations[api.AnnotationAlphaProvidedIPAddr] != now.Annotations[api.AnnotationAlphaProvidedIPAddr] ||
		!maps.Equal(before.Labels, now.Labels) ||
		!slices.Equal(before.Status.Addresses, now.Status.Addresses) ||
		!nodefact.SameTaints(before.Spec.Taints, now.Spec.Taints) ||
		before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero() ||
		!nodefact.IsUninitialized(now) && showsOtherwise(before, now)
}

// showsOtherwise reports whether the condition of this controller has changed.
func showsOtherwise(before, now *corev1.Node) bool {
	return !nodefact.SameCondition(nodefact.Condition(before, ConditionInitialized), nodefact.Condition(now, ConditionInitialized))
}
