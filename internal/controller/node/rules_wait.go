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

// waiting tells why the Node waits: an event when the reason changes, and a
// condition once the Node has waited for a minute (V1).
func waiting(o observed, r refusal) plan {
	p := plan{do: wait, why: r.message, memory: o.memory}
	if p.memory.waitsSince.IsZero() {
		p.memory.waitsSince = waitsSince(o)
	}
	p.memory.waitsFor = r.reason
	shown := conditionOf(o.node)
	if isNews(o, r, shown) {
		p.events = []event{initFailed(r)}
		p.memory.told, p.memory.toldAt = r.reason, o.now
	}
	if isDue(o, p.memory, shown) && isOutdated(o.now, r, shown) {
		p.condition = condition(o.now, shown, corev1.ConditionFalse, r)
	}
	return p
}

// waitsSince is when the wait has begun: with the Node, whichever process looks
// at it first. A process that keeps dying must not begin to count anew each
// time.
func waitsSince(o observed) time.Time {
	if created := o.node.CreationTimestamp; !created.IsZero() && created.Time.Before(o.now) {
		return created.Time
	}
	return o.now
}

// isNews tells whether the reason is to be recorded. A new leader does not
// repeat what the Node shows already.
func isNews(o observed, r refusal, shown *corev1.NodeCondition) bool {
	switch {
	case o.memory.told == r.reason, o.now.Sub(o.memory.toldAt) < atMostOnce:
		return false
	case o.memory.told == "" && shown != nil && shown.Status == corev1.ConditionFalse:
		return shown.Reason != r.reason
	default:
		return true
	}
}

// isDue tells whether the Node has waited long enough, or shows the condition
// of an earlier wait, which must not go on telling something else.
func isDue(o observed, m memory, shown *corev1.NodeCondition) bool {
	return shown != nil || o.now.Sub(m.waitsSince) >= conditionAfter
}

func isOutdated(now time.Time, r refusal, shown *corev1.NodeCondition) bool {
	switch {
	case shown == nil, shown.Status != corev1.ConditionFalse:
		return true
	case shown.Reason != r.reason:
		return now.Sub(shown.LastHeartbeatTime.Time) >= atMostOnce
	default:
		return shown.Message != r.message && now.Sub(shown.LastHeartbeatTime.Time) >= refreshMessage
	}
}

// recovered is the condition of a Node that no longer waits, nil where it
// shows no other.
func recovered(o observed) *corev1.NodeCondition {
	shown := conditionOf(o.node)
	if shown == nil || shown.Status == corev1.ConditionTrue {
		return nil
	}
	return condition(o.now, shown, corev1.ConditionTrue, initialized())
}

func condition(now time.Time, shown *corev1.NodeCondition, status corev1.ConditionStatus, r refusal) *corev1.NodeCondition {
	c := &corev1.NodeCondition{
		Type:               ConditionInitialized,
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

func conditionOf(node *corev1.Node) *corev1.NodeCondition {
	for n := range node.Status.Conditions {
		if c := &node.Status.Conditions[n]; c.Type == ConditionInitialized {
			return c
		}
	}
	return nil
}
