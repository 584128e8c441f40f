package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodecondition"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// waiting tells why the Node waits: an event when the reason changes, and a
// condition once the Node has waited for a minute (V1).
func waiting(o observed, r message.Cause) plan {
	p := plan{do: wait, why: r.Message, memory: o.memory}
	if p.memory.waitsSince.IsZero() {
		p.memory.waitsSince = waitsSince(o)
	}
	p.memory.waitsFor = r.Reason
	shown := nodefact.Condition(o.node, ConditionInitialized)
	if isNews(o, r, shown) {
		p.events = []message.Event{hasInitFailed(r)}
		p.memory.told, p.memory.toldAt = r.Reason, o.now
	}
	if want := (nodecondition.Wanted{Type: ConditionInitialized, Status: corev1.ConditionFalse, Cause: r}); isDue(o, p.memory, shown) && want.IsDue(o.now, shown) {
		p.condition = want.At(o.now, shown)
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
func isNews(o observed, r message.Cause, shown *corev1.NodeCondition) bool {
	switch {
	case o.memory.told == r.Reason, o.now.Sub(o.memory.toldAt) < eventInterval:
		return false
	case o.memory.told == "" && shown != nil && shown.Status == corev1.ConditionFalse:
		return shown.Reason != r.Reason
	default:
		return true
	}
}

// isDue tells whether the Node has waited long enough, or shows the condition
// of an earlier wait, which must not go on telling something else.
func isDue(o observed, m memory, shown *corev1.NodeCondition) bool {
	return shown != nil || o.now.Sub(m.waitsSince) >= nodecondition.After
}

// recovered is the condition of a Node that no longer waits, nil where it
// shows no other.
func recovered(o observed) *corev1.NodeCondition {
	shown := nodefact.Condition(o.node, ConditionInitialized)
	if shown == nil || shown.Status == corev1.ConditionTrue {
		return nil
	}
	return nodecondition.Wanted{Type: ConditionInitialized, Status: corev1.ConditionTrue, Cause: isInitialized()}.At(o.now, shown)
}

// eventInterval is the shortest time between two events that name different
// reasons. A cloud that fails in different ways must not cause a stream of
// events.
const eventInterval = time.Minute
