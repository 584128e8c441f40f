package nodelifecycle

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodecondition"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// holding is what the Node has shown about its held deletion.
type holding struct {
	// since is when the deletion began to wait, reason is why. Both are empty
	// if it does not wait.
	since  time.Time
	reason string
	// open means that an event has said that the deletion waits, and no later
	// event has said that the wait is over.
	open bool
	// recorded is when each reason was last recorded as an event.
	recorded map[string]time.Time
	// wrote is the status of the condition that this process has written last, and
	// wroteAt is when.
	wrote   corev1.ConditionStatus
	wroteAt time.Time
}

// putBackAfter is the shortest time between two writes of a condition whose status
// somebody else changes (promise S4 b). The kubelet may change the status, or a daemon
// of another cloud, whose cloud answers otherwise about the instance.
const putBackAfter = 5 * time.Minute

// contested returns how long to leave a condition as it is, because somebody else has
// changed its status after this process wrote it. 0 means that it may be written.
func (h holding) contested(shown *corev1.NodeCondition, now time.Time) time.Duration {
	if h.wroteAt.IsZero() || shown == nil || shown.Status == h.wrote {
		return 0
	}
	return max(h.wroteAt.Add(putBackAfter).Sub(now), 0)
}

// repeatAfter is how long a reason that comes back is not recorded again. A
// cloud whose answers alternate must not cause a stream of events.
const repeatAfter = 10 * time.Minute

// held returns the plan that shows what is missing before the Node may be
// deleted: an event when that changes, and a condition once the deletion has waited
// for a minute (promise V1).
func held(o observed, ob obstacle) plan {
	p := plan{do: hold, why: ob.cause.Message, after: o.untilRetry(ob), memory: o.memory}
	h := &p.memory.holding
	shown := nodefact.Condition(o.node, ConditionMissing)
	isShownBefore := h.reason == "" && isMissing(shown) && shown.Reason == ob.cause.Reason // by an earlier leader
	if h.since.IsZero() {
		h.since = o.now
	}
	if ob.cause.Reason != h.reason && !isShownBefore && o.now.Sub(h.recorded[ob.cause.Reason]) >= repeatAfter {
		h.recorded, h.open = recordedAt(h.recorded, ob.cause.Reason, o.now), true
		p.events = []message.Event{deletionHeld(ob.cause)}
	}
	h.reason = ob.cause.Reason
	want := nodecondition.Wanted{Type: ConditionMissing, Status: corev1.ConditionUnknown, Cause: ob.cause}
	if o.memory.evidence.presence == absent {
		want.Status = corev1.ConditionTrue
	}
	waited := o.now.Sub(h.since)
	if (isMissing(shown) || waited >= nodecondition.After) && want.IsDue(o.now, shown) && h.contested(shown, o.now) == 0 {
		p.condition = want.At(o.now, shown)
	}
	if waited < nodecondition.After {
		p.after = min(p.after, max(nodecondition.After-waited, minDelay))
	}
	return p
}

// heldInCheck does the same as held, for an obstacle that the final check has found.
// The next final check has to wait.
func heldInCheck(o observed, ob obstacle) plan {
	p := held(o, ob)
	p.memory.nextCheck = o.now.Add(o.untilRetry(ob))
	return p
}

// untilRetry returns the time until the obstacle may be gone.
func (o observed) untilRetry(ob obstacle) time.Duration {
	if ob.until.IsZero() {
		return o.untilDue()
	}
	return min(o.untilDue(), max(ob.until.Sub(o.now), minDelay))
}

// stays completes the plan for a Node that is not deleted. If its deletion was held,
// the plan reports that the deletion is cancelled.
func stays(o observed, p plan, cause message.Cause) plan {
	shown := nodefact.Condition(o.node, ConditionMissing)
	over := deletionCanceled(cause)
	recorded := o.memory.holding.recorded
	if (o.memory.holding.open || isMissing(shown)) && o.now.Sub(recorded[over.Reason]) >= repeatAfter {
		p.events = []message.Event{over}
		recorded = recordedAt(recorded, over.Reason, o.now)
	}
	h := o.memory.holding
	switch later := h.contested(shown, o.now); {
	case !isMissing(shown):
	case later > 0 && (p.after == 0 || later < p.after):
		p.after = later
	case later == 0:
		p.condition = nodecondition.Wanted{Type: ConditionMissing, Status: corev1.ConditionFalse, Cause: cause}.At(o.now, shown)
	}
	o.memory.holding, o.memory.nextCheck = holding{recorded: recorded, wrote: h.wrote, wroteAt: h.wroteAt}, time.Time{}
	p.memory = o.memory
	return p
}

// recordedAt returns a copy of the map with the time of one more reason.
func recordedAt(recorded map[string]time.Time, reason string, now time.Time) map[string]time.Time {
	recorded = maps.Clone(recorded)
	if recorded == nil {
		recorded = map[string]time.Time{}
	}
	recorded[reason] = now
	return recorded
}

// isMissing reports whether the Node shows that its instance is missing.
func isMissing(shown *corev1.NodeCondition) bool {
	return shown != nil && shown.Status != corev1.ConditionFalse
}
