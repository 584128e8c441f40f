package node

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodecause"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// waits returns the plan for a Node that has to wait. The plan shows the cause (promise
// V1). It records an event when the reason changes, and writes a condition once the
// Node has waited for a minute.
func waits(o observed, r message.Cause) plan {
	p := plan{do: wait, why: r.Message, memory: o.memory}
	if p.memory.waitsSince.IsZero() {
		p.memory.waitsSince = waitsSince(o)
	}
	p.memory.waitsFor = r.Reason
	if o.answer.again > 0 {
		p.memory.questions = p.memory.questions.Returned(questionLimit)
	}
	event := hasInitFailed(r)
	if p.memory.vain, p.after = vainAfter(o, r); p.after > 0 {
		p.memory.nextAsk = o.now.Add(p.after)
		r = withPause(r, p.after)
	} else {
		p.memory.nextAsk = time.Time{}
	}
	shown := nodefact.Condition(o.node, ConditionInitialized)
	if isNews(o, r, shown) {
		p.events = []message.Event{event}
		p.memory.recorded = o.memory.recorded.With(r.Reason, o.now)
	}
	if want := (showing.Condition{Type: ConditionInitialized, Status: corev1.ConditionFalse, Cause: r}); isDue(o, p.memory, shown) && want.IsDue(o.now, shown) {
		p.condition = want.At(o.now, shown)
		p.memory.endedAt = time.Time{}
	}
	return p
}

// inVain has the reasons for which it is useless to ask again soon. The answer stays
// the same until somebody changes something. A Node with one of these reasons might
// wait for ever, and must not use up the quota of the cloud (promise P2).
var inVain = []string{nodecause.NotFound, "CloudDenied", "CloudRejected", "NotImplemented", "ProviderPanicked", providerIDMismatch.Name, noProviderID.Name}

// The pause doubles after each question in vain, from firstPause to longestPause. Once
// it is longer than hurriedFor, other Nodes are asked about first.
const (
	firstPause   = time.Second
	longestPause = 15 * time.Minute
	hurriedFor   = time.Minute
)

// vainAfter returns the number of questions in a row that were in vain, including the
// last one. It also returns the time until the next question; 0 means the growing delay
// of the queue. A failure of the cloud does not set the number back to 0, so the Node
// does not get a higher priority.
func vainAfter(o observed, r message.Cause) (vain int, pause time.Duration) {
	switch {
	case o.answer.again > 0: // The pause ends with the outage.
		return o.memory.vain, o.answer.again
	case slices.Contains(inVain, r.Reason):
		vain = o.memory.vain + 1
		return vain, pauseAfter(vain)
	case o.memory.vain > 0 && o.answer.given == refused:
		return o.memory.vain, min(pauseAfter(o.memory.vain), hurriedFor)
	default:
		return 0, 0
	}
}

// pauseAfter returns the pause after the given number of questions in vain.
func pauseAfter(vain int) time.Duration { return showing.Pause(vain, firstPause, longestPause) }

// questionLimit bounds the questions about a Node that waits. The owner of the Node can
// change the Node at any time, and each change causes a question. Without changes, the
// growing delay between questions allows at most 7 questions in the first minute, and
// at most one in each later minute.
var questionLimit = allowance.Limit{Burst: 12, Every: 30 * time.Second, Least: 500 * time.Millisecond}

// asks returns the plan to ask the cloud, or a plan to wait if too many questions were
// asked. If a pass comes before the time of the next question, the Node has changed, or
// the watch has named it. Then the pauses start from the shortest one again, unless the
// Node has used up its questions.
func asks(o observed) plan {
	if next := o.memory.questions.Next(questionLimit); o.now.Before(next) {
		return plan{do: wait, why: "the cloud was asked about the Node too often, so the next question has to wait", after: next.Sub(o.now), memory: o.memory}
	}
	p := plan{do: ask, why: "the Node waits for its instance to be described", memory: o.memory}
	p.memory.questions = o.memory.questions.Used(questionLimit, o.now)
	isUsedUp := p.memory.questions.Next(questionLimit).Sub(o.now) > questionLimit.Least
	if o.now.Before(o.memory.nextAsk) && !isUsedUp {
		p.memory.vain = 0
	}
	p.unhurried = p.memory.vain > 0 && pauseAfter(p.memory.vain) > hurriedFor
	return p
}

// waitsSince returns the time at which the wait began: the creation time of the Node.
// So a process that keeps crashing does not count from zero each time.
func waitsSince(o observed) time.Time {
	if created := o.node.CreationTimestamp; !created.IsZero() && created.Time.Before(o.now) {
		return created.Time
	}
	return o.now
}

// isNews reports whether an event should report the reason. A new leader does not
// repeat a reason that the Node shows already.
func isNews(o observed, r message.Cause, shown *corev1.NodeCondition) bool {
	switch {
	case o.memory.recorded == nil && shown != nil && shown.Status == corev1.ConditionFalse:
		return shown.Reason != r.Reason
	default:
		return o.memory.recorded.IsNew(r.Reason, o.now)
	}
}

// isDue reports whether the Node has waited long enough for a condition, or already
// shows one. The condition that it shows may come from an earlier wait, and must be
// corrected.
func isDue(o observed, m memory, shown *corev1.NodeCondition) bool {
	return shown != nil || o.now.Sub(m.waitsSince) >= showing.After
}

// endOfWait adds to the plan for a Node that does not wait what has to be written about
// the condition. The Node either shows that it is initialised or has no condition.
func endOfWait(o observed, p *plan) {
	shown := nodefact.Condition(o.node, ConditionInitialized)
	isTrue := shown != nil && shown.Status == corev1.ConditionTrue
	pause := o.memory.endedAt.Add(showing.PutBackAfter).Sub(o.now)
	switch {
	case shown == nil && !o.always, isTrue && o.always, (shown == nil || isTrue) && !isOfThisCloud(o):
	case pause > 0: // Somebody else, perhaps a kubelet, might change it again and again.
		if shown != nil {
			p.after = pause
		}
	case o.always:
		p.condition = showing.Condition{Type: ConditionInitialized, Status: corev1.ConditionTrue, Cause: isInitialized()}.At(o.now, shown)
		p.memory.endedAt = o.now
	default:
		p.without, p.memory.endedAt = ConditionInitialized, o.now
	}
}

// isOfThisCloud reports whether an initialised Node is known to belong to this cloud:
// this process has initialised it, or the cloud has just described it. Without a wait,
// the condition belongs to the daemon of the Node's cloud.
func isOfThisCloud(o observed) bool {
	isDescribed := o.answer.given == described && !isOther(o) && isKnown(o.node, o.answer.instance)
	return o.memory.released || isDescribed
}
