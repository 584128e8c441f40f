package certificate

import (
	"slices"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/requestfact"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// questionLimit limits the questions to the cloud about one Node, because the Node's
// kubelet can make any number of requests.
var questionLimit = allowance.Limit{Burst: 12, Every: 30 * time.Second, Least: 500 * time.Millisecond}

// approvals returns the limit of all approvals together.
func (l Limits) approvals() allowance.Limit {
	return allowance.Limit{Burst: l.ApprovalsPerMinute, Every: time.Minute / time.Duration(max(l.ApprovalsPerMinute, 1))}
}

// After each answer that proves nothing, the pause before the next question doubles,
// between these bounds. A change of the Node or of the request ends the pause.
const (
	firstPause   = 5 * time.Second
	longestPause = time.Hour
)

// untilApproval returns the plan to wait if the limit of approvals is used up. It
// returns nil if another request can be approved.
func untilApproval(o observed) *plan {
	next := o.approvals.Next(o.limits.approvals())
	if !o.now.Before(next) {
		return nil
	}
	p := holds(o, tooManyApprovals())
	p.after = next.Sub(o.now)
	return &p
}

// asks returns the plan to ask the cloud, or to wait if a limit is used up. An answer
// is used at once or never, so the cloud is not asked while no request can be
// approved.
func asks(o observed) plan {
	if p := untilApproval(o); p != nil {
		return *p
	}
	if next := o.questions.Next(questionLimit); o.now.Before(next) {
		p := holds(o, tooManyQuestions())
		p.after = next.Sub(o.now)
		if p.after <= questionLimit.Least {
			p.events = nil // Such a short wait needs no event.
		}
		return p
	}
	return plan{do: ask, why: "only the cloud knows what the instance has", memory: o.memory}
}

// refuses returns the plan for a request that asks for something that its Node must
// not have. The request is denied if Limits.DenyForeign is set, and waits otherwise.
func refuses(o observed, c message.Cause) plan {
	switch {
	case !o.limits.DenyForeign:
		return holds(o, c)
	case !o.live:
		return plan{do: confirm, why: c.Message, memory: o.memory}
	default:
		return plan{do: deny, why: c.Message, cause: c, memory: o.memory}
	}
}

// holds returns the plan to wait. The plan has an event on the Node if the cause is new
// or was recorded long ago.
func holds(o observed, c message.Cause) plan {
	p := plan{do: wait, why: c.Message, cause: c, memory: o.memory}
	p.memory.reason, p.memory.vain = c.Reason, 0
	left := requestfact.LongestPending - o.now.Sub(o.request.CreationTimestamp.Time)
	switch {
	case slices.Contains(unprovenReasons, c.Reason):
		p.memory.vain = o.memory.vain + 1
		p.after = min(showing.Pause(p.memory.vain, firstPause, longestPause), left)
	case o.answer.given == failed:
		p.soon = true
	default:
		p.after = left // After that time, the request is too old to wait.
	}
	p.events = eventsOf(o, c)
	return p
}

// unprovenReasons are the reasons to wait that a later answer of the cloud might
// remove. So the cloud is asked again.
var unprovenReasons = []string{identityUnproven.Name, addressUnproven.Name}

// eventsOf returns the events that say why the request waits: on its Node, and on
// each Node that claims the same instance. Another manager's Node gets no event.
func eventsOf(o observed, c message.Cause) (events []recorded) {
	if o.node == nil || c.Reason == noNode.Name {
		return nil
	}
	if isNews(o, o.node.Name, c) {
		events = append(events, recorded{o.node, isHeld(o, c)})
	}
	if c.Reason != identityContested.Name {
		return events
	}
	for _, holder := range o.holders {
		if whyAlone(o.claim, holder) == "" && isNews(o, holder.Name, c) {
			events = append(events, recorded{holder, isHeld(o, c)})
		}
	}
	return events
}

// isNews reports whether the cause should be recorded on the Node now.
func isNews(o observed, node string, c message.Cause) bool {
	return o.told[node].IsNew(c.Reason, o.now)
}
