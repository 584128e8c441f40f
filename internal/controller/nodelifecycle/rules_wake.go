package nodelifecycle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// wakes reports whether a Node has changed in what the decisions about it read.
// Of heartbeats only those of a kubelet that is not Ready count: the others
// change nothing, and every Node has one each few minutes. What the decisions
// read of other Nodes wakes nothing: a Node that is held is decided on again
// within LongestPause.
func wakes(before, now *corev1.Node) bool {
	return before.UID != now.UID ||
		before.Spec.ProviderID != now.Spec.ProviderID ||
		before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero() ||
		nodefact.IsExcludedByLabel(before) != nodefact.IsExcludedByLabel(now) ||
		before.Labels[corev1.LabelTopologyRegion] != now.Labels[corev1.LabelTopologyRegion] ||
		before.Labels[corev1.LabelTopologyZone] != now.Labels[corev1.LabelTopologyZone] ||
		nodefact.IsUninitialized(before) != nodefact.IsUninitialized(now) ||
		nodefact.IsAnnounced(before) != nodefact.IsAnnounced(now) ||
		slices.ContainsFunc(before.Spec.Taints, isShutdownTaint) != slices.ContainsFunc(now.Spec.Taints, isShutdownTaint) ||
		!equality.Semantic.DeepEqual(nodefact.Condition(before, ConditionMissing), nodefact.Condition(now, ConditionMissing)) ||
		reportsOtherwise(nodefact.Condition(before, corev1.NodeReady), nodefact.Condition(now, corev1.NodeReady))
}

// reportsOtherwise reports whether the kubelet may count as silent where it did
// not, or the other way round.
func reportsOtherwise(before, now *corev1.NodeCondition) bool {
	if before == nil || now == nil {
		return before != now
	}
	return before.Status != now.Status || now.Status == corev1.ConditionFalse && !before.LastHeartbeatTime.Equal(&now.LastHeartbeatTime)
}
