package showing

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

const (
	// reasonInterval is the shortest time between two writes that change the reason.
	// It limits the number of writes when the cloud's errors alternate.
	reasonInterval = time.Minute
	// messageInterval is the shortest time between two writes that change only
	// the message.
	messageInterval = 5 * time.Minute
)

// Condition is a condition that a Node should show.
type Condition struct {
	Type   corev1.NodeConditionType
	Status corev1.ConditionStatus
	Cause  message.Cause
}

// IsDue reports whether the condition has to be written now. shown is the condition
// that the Node has, or nil if it has none.
func (w Condition) IsDue(now time.Time, shown *corev1.NodeCondition) bool {
	switch {
	case shown == nil, shown.Status != w.Status:
		return true
	case shown.Reason != w.Cause.Reason:
		return now.Sub(shown.LastHeartbeatTime.Time) >= reasonInterval
	default:
		return shown.Message != w.Cause.Message && now.Sub(shown.LastHeartbeatTime.Time) >= messageInterval
	}
}

// At returns the condition to write. shown is the condition that the Node has, or nil
// if it has none. The transition time is kept while the status stays the same.
func (w Condition) At(now time.Time, shown *corev1.NodeCondition) *corev1.NodeCondition {
	c := &corev1.NodeCondition{
		Type:               w.Type,
		Status:             w.Status,
		Reason:             w.Cause.Reason,
		Message:            w.Cause.Message,
		LastHeartbeatTime:  metav1.NewTime(now),
		LastTransitionTime: metav1.NewTime(now),
	}
	if shown != nil && shown.Status == w.Status {
		c.LastTransitionTime = shown.LastTransitionTime
	}
	return c
}
