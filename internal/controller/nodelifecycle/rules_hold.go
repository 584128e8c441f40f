package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// holding records the events and the condition that the Node has shown about its held
// deletion.
type holding struct {
	// since is the time at which the deletion began to wait. It is zero if no deletion
	// waits.
	since time.Time
	// reason says why the deletion waits. It is empty if no deletion waits.
	reason string
	// open means that an event has reported the wait, and that no event has reported
	// the end of the wait yet.
	open bool
	// recorded has the events about the deletion.
	recorded showing.News
	// wrote is the status that this process last wrote to the condition.
	wrote corev1.ConditionStatus
	// wroteAt is the time of that write.
	wroteAt time.Time
}

// contested returns the time until the condition may be written again. The time is more
// than 0 only if another client has changed the status that this process wrote.
func (h holding) contested(shown *corev1.NodeCondition, now time.Time) time.Duration {
	if h.wroteAt.IsZero() || shown == nil || shown.Status == h.wrote {
		return 0
	}
	return max(h.wroteAt.Add(showing.PutBackAfter).Sub(now), 0)
}

// held returns the plan for a Node whose deletion has to wait. The plan shows the cause
// (promise V1). It records an event when the reason changes, and writes a condition
// once the deletion has waited for a minute.
func held(o observed, ob obstacle) plan {
	if !ob.ends.IsZero() {
		ob.cause = ending(ob.cause, ob.ends)
	}
	p := plan{do: hold, why: ob.cause.Message, after: o.untilRetry(ob), memory: o.memory}
	h := &p.memory.holding
	shown := nodefact.Condition(o.node, ConditionMissing)
	isShownBefore := h.reason == "" && isMissing(shown) && shown.Reason == ob.cause.Reason // by an earlier leader
	if h.since.IsZero() {
		h.since = o.now
	}
	if ob.cause.Reason != h.reason && !isShownBefore && h.recorded.IsNew(ob.cause.Reason, o.now) {
		h.recorded, h.open = h.recorded.With(ob.cause.Reason, o.now), true
		p.events = []message.Event{deletionHeld(ob.cause)}
	}
	h.reason = ob.cause.Reason
	want := showing.Condition{Type: ConditionMissing, Status: corev1.ConditionUnknown, Cause: ob.cause}
	if o.memory.evidence.presence == absent {
		want.Status = corev1.ConditionTrue
	}
	waited := o.now.Sub(h.since)
	if (isMissing(shown) || waited >= showing.After) && want.IsDue(o.now, shown) && h.contested(shown, o.now) == 0 {
		p.condition = want.At(o.now, shown)
	}
	if waited < showing.After {
		p.after = min(p.after, max(showing.After-waited, minDelay))
	}
	return p
}

// heldInCheck returns the plan for an obstacle that was met in the final check. It is
// the plan of the function held, and also makes the next final check wait.
func heldInCheck(o observed, ob obstacle) plan {
	p := held(o, ob)
	p.memory.nextCheck = o.now.Add(o.untilRetry(ob))
	return p
}

// untilRetry returns the time until the obstacle might be gone, or until a question is
// due if that is earlier.
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
	if (o.memory.holding.open || isMissing(shown)) && recorded.IsNew(over.Reason, o.now) {
		p.events = []message.Event{over}
		recorded = recorded.With(over.Reason, o.now)
	}
	h := o.memory.holding
	switch later := h.contested(shown, o.now); {
	case !isMissing(shown):
	case later > 0 && (p.after == 0 || later < p.after):
		p.after = later
	case later == 0:
		p.condition = showing.Condition{Type: ConditionMissing, Status: corev1.ConditionFalse, Cause: cause}.At(o.now, shown)
	}
	o.memory.holding, o.memory.nextCheck = holding{recorded: recorded, wrote: h.wrote, wroteAt: h.wroteAt}, time.Time{}
	p.memory = o.memory
	return p
}

// isMissing reports whether the condition says that the instance is missing, or that it
// might be.
func isMissing(shown *corev1.NodeCondition) bool {
	return shown != nil && shown.Status != corev1.ConditionFalse
}

// outcome says how the call that deletes a Node has ended.
type outcome string

const (
	deleted  outcome = "deleted"
	missing  outcome = "the Node is gone already"
	changed  outcome = "each write is refused, because the Node has changed since it was read"
	rejected outcome = "the API server rejects the deletion"
	unclear  outcome = "the call has failed, and may have deleted the Node nevertheless"
)

// result is the outcome of a deletion, with the texts that report a failure.
type result struct {
	outcome outcome
	// cause, event and err are set if the deletion has failed.
	cause message.Cause
	event message.Event
	err   error
}

// counts reports whether the rate limit includes the deletion. It includes a deletion
// whose reply is lost, because the API server might have carried it out.
func (r outcome) counts() bool { return r == deleted || r == unclear }

// concluded returns the plan that follows the attempt to delete the Node. p is the plan
// that asked for the deletion.
func concluded(o observed, p plan, r result) plan {
	o.memory, o.answer = p.memory, answer{}
	switch r.outcome {
	case deleted:
		p.events = append(p.events, deleting(o.node.Name))
		p.memory.deleted = o.node.UID
		return p
	case missing:
		return plan{do: doNothing, why: string(r.outcome), memory: p.memory}
	case changed, rejected, unclear:
	}
	failed := heldInCheck(o, obstacle{cause: r.cause})
	if len(failed.events) > 0 && r.outcome != changed {
		failed.events = []message.Event{r.event}
	}
	return failed
}
