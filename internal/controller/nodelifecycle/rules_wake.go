package nodelifecycle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// wakes reports whether a change of a Node triggers a pass, because a decision reads
// one of the changed fields. A heartbeat does not count if Ready is True. Such
// heartbeats change no decision, and every Node sends one every few minutes. Decisions
// also read other Nodes. But a change of a Node triggers a pass only for that Node,
// because each held Node has a pass within LongestPause anyway.
func wakes(l Limits, claim ownership.Claim, before, now *corev1.Node) bool {
	_, was := claim.Disowns(before)
	_, is := claim.Disowns(now)
	return was != is ||
		before.UID != now.UID ||
		before.Spec.ProviderID != now.Spec.ProviderID ||
		before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero() ||
		before.Labels[corev1.LabelTopologyRegion] != now.Labels[corev1.LabelTopologyRegion] ||
		before.Labels[corev1.LabelTopologyZone] != now.Labels[corev1.LabelTopologyZone] ||
		before.Labels[nodefact.LabelIdentity] != now.Labels[nodefact.LabelIdentity] ||
		nodefact.IsUninitialized(before) != nodefact.IsUninitialized(now) ||
		l.isTainted(before) != l.isTainted(now) ||
		nodefact.IsAnnouncedByCondition(before) != nodefact.IsAnnouncedByCondition(now) ||
		slices.ContainsFunc(before.Spec.Taints, isShutdownTaint) != slices.ContainsFunc(now.Spec.Taints, isShutdownTaint) ||
		!nodefact.SameCondition(nodefact.Condition(before, ConditionMissing), nodefact.Condition(now, ConditionMissing)) ||
		reportsOtherwise(nodefact.Condition(before, corev1.NodeReady), nodefact.Condition(now, corev1.NodeReady))
}

// reportsOtherwise reports whether the kubelet might have fallen silent, or might have
// begun to report again.
func reportsOtherwise(before, now *corev1.NodeCondition) bool {
	if before == nil || now == nil {
		return before != now
	}
	return before.Status != now.Status || now.Status != corev1.ConditionTrue && !before.LastHeartbeatTime.Equal(&now.LastHeartbeatTime)
}
