package nodelifecycle

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodecondition"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// holding is what the owner of a Node has been told about its removal.
type holding struct {
	// since is when the removal began to wait, for the reason; empty: it does
	// not.
	since  time.Time
	reason string
	// open tells that an event has said so, and none that it is over.
	open bool
	// told is when each reason was last recorded as an event.
	told map[string]time.Time
}

// tellAgain is how long a reason that comes back is not recorded again: a cloud
// that answers in turns must not become a stream of events.
const tellAgain = 10 * time.Minute

// held tells what is missing before the Node may be deleted: an event when that
// changes, and a condition once it has waited for a minute (V1).
func held(c candidate, o obstacle) removalPlan {
	p := removalPlan{do: hold, why: o.cause.Message, after: c.untilDue(), memory: c.memory}
	if wait := o.until.Sub(c.now); !o.until.IsZero() {
		p.after = min(p.after, max(wait, soonest))
	}
	if c.lastLook.isOn {
		p.memory.notLast = c.now.Add(p.after)
	}
	h := &p.memory.holding
	shown := nodefact.Condition(c.node, ConditionMissing)
	isShownBefore := h.reason == "" && isShown(shown) && shown.Reason == o.cause.Reason // by an earlier leader
	if h.since.IsZero() {
		h.since = c.now
	}
	if o.cause.Reason != h.reason && !isShownBefore && c.now.Sub(h.told[o.cause.Reason]) >= tellAgain {
		h.told, h.open = at(h.told, o.cause.Reason, c.now), true
		p.events = []message.Event{deletionHeld(o.cause)}
	}
	h.reason = o.cause.Reason
	status := corev1.ConditionUnknown
	if c.memory.evidence.said == absent {
		status = corev1.ConditionTrue
	}
	want := nodecondition.Wanted{Type: ConditionMissing, Status: status, Cause: o.cause}
	if (isShown(shown) || c.now.Sub(h.since) >= nodecondition.After) && want.IsDue(c.now, shown) {
		p.condition = want.At(c.now, shown)
	}
	if c.now.Sub(h.since) < nodecondition.After {
		p.after = min(p.after, max(h.since.Add(nodecondition.After).Sub(c.now), soonest))
	}
	return p
}

// stays ends the wait, if there was one: the Node is not deleted.
func stays(c candidate, p removalPlan, r message.Cause) removalPlan {
	shown := nodefact.Condition(c.node, ConditionMissing)
	over := deletionCanceled(r)
	told := c.memory.holding.told
	if (c.memory.holding.open || isShown(shown)) && c.now.Sub(told[over.Reason]) >= tellAgain {
		p.events = []message.Event{over}
		told = at(told, over.Reason, c.now)
	}
	if isShown(shown) {
		p.condition = nodecondition.Wanted{Type: ConditionMissing, Status: corev1.ConditionFalse, Cause: r}.At(c.now, shown)
	}
	c.memory.holding, c.memory.notLast = holding{told: told}, time.Time{}
	p.memory = c.memory
	return p
}

// at is the map with one time more.
func at(told map[string]time.Time, reason string, now time.Time) map[string]time.Time {
	told = maps.Clone(told)
	if told == nil {
		told = map[string]time.Time{}
	}
	told[reason] = now
	return told
}

// isShown tells whether the Node says that its instance is missing.
func isShown(c *corev1.NodeCondition) bool { return c != nil && c.Status != corev1.ConditionFalse }
