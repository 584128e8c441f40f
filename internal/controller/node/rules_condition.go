package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// conditionAfter is how long a Node waits before the reason stays on it as
	// a condition; most waits are over sooner and need no write.
	conditionAfter = time.Minute
	// atMostOnce is how often another reason is recorded; a cloud that fails
	// in turns must not become a stream of events.
	atMostOnce = time.Minute
	// refreshMessage is how often the message of the same reason is rewritten.
	refreshMessage = 5 * time.Minute
)

// isOutdated tells whether the condition that the Node shows has to be
// rewritten to say this.
func isOutdated(now time.Time, status corev1.ConditionStatus, r refusal, shown *corev1.NodeCondition) bool {
	switch {
	case shown == nil, shown.Status != status:
		return true
	case shown.Reason != r.reason:
		return now.Sub(shown.LastHeartbeatTime.Time) >= atMostOnce
	default:
		return shown.Message != r.message && now.Sub(shown.LastHeartbeatTime.Time) >= refreshMessage
	}
}

// condition is what the Node is to show instead of what it shows.
func condition(now time.Time, kind corev1.NodeConditionType, status corev1.ConditionStatus, r refusal, shown *corev1.NodeCondition) *corev1.NodeCondition {
	c := &corev1.NodeCondition{
		Type:               kind,
		Status:             status,
		Reason:             r.reason,
		Message:            r.message,
		LastHeartbeatTime:  metav1.NewTime(now),
		LastTransitionTime: metav1.NewTime(now),
	}
	if shown != nil && shown.Status == status {
		c.LastTransitionTime = shown.LastTransitionTime
	}
	return c
}

func conditionOf(node *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for n := range node.Status.Conditions {
		if c := &node.Status.Conditions[n]; c.Type == kind {
			return c
		}
	}
	return nil
}
