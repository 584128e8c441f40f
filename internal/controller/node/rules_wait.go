package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// waiting tells why the Node waits: an event when the reason changes, and a
// condition once the Node has waited for a minute (V1).
func waiting(o observed, r refusal) plan {
	p := plan{do: wait, why: r.message, memory: o.memory}
	if p.memory.waitsSince.IsZero() {
		p.memory.waitsSince = waitsSince(o)
	}
	p.memory.waitsFor = r.reason
	shown := conditionOf(o.node, ConditionInitialized)
	if isNews(o, r, shown) {
		p.events = []event{initFailed(r)}
		p.memory.told, p.memory.toldAt = r.reason, o.now
	}
	if isDue(o, p.memory, shown) && isOutdated(o.now, corev1.ConditionFalse, r, shown) {
		p.condition = condition(o.now, ConditionInitialized, corev1.ConditionFalse, r, shown)
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

// recovered is the condition of a Node that no longer waits, nil where it
// shows no other.
func recovered(o observed) *corev1.NodeCondition {
	shown := conditionOf(o.node, ConditionInitialized)
	if shown == nil || shown.Status == corev1.ConditionTrue {
		return nil
	}
	return condition(o.now, ConditionInitialized, corev1.ConditionTrue, initialized(), shown)
}
