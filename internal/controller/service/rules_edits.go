package service

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// editLimit limits the calls to the provider for edits of a Service. It allows five
// calls in a row, for a person who tries out an annotation. Then it allows one call in
// two minutes, for a program that changes an annotation all the time. Calls for edits
// are at least five seconds apart, so edits in quick succession share a call. The first
// version of a Service and its deletion do not count. The removal of a load balancer
// counts only if it repeats an earlier removal, without a call of Ensure in between.
var editLimit = allowance.Limit{Burst: 5, Every: 2 * time.Minute, Least: 5 * time.Second}

// tried describes the last call to the provider about a Service. It also has the
// allowance for edits of the Service. It is kept after the removal of the load balancer, when the memory is
// dropped. Otherwise a Service would get a new allowance with each change of its type.
type tried struct {
	uid types.UID
	// shape is the shape of the Service in the last call. After a removal, it is the
	// constant named removal.
	shape string
	edits allowance.Allowance
	// shownAt is the time when the Service last showed that an edit waits. recordedAt
	// is the time of the last event that said so.
	shownAt, recordedAt time.Time
}

// removal is the value of tried.shape after a load balancer was removed.
const removal = "removed"

// after returns the value of t after the call of a plan, which ended at the given time.
func (t tried) after(p plan, at time.Time) tried {
	if p.do == update || p.do == find {
		return t
	}
	if t.uid != p.service.UID {
		t = tried{uid: p.service.UID, shape: shapeOf(p.service)}
	}
	switch {
	case p.do == remove && t.shape == removal && p.memory.failure.attempts == 0:
		t.edits = t.edits.Used(editLimit, at)
	case p.do == remove:
		t.shape = removal
	case t.isEdited(p.service):
		t.shape, t.edits = shapeOf(p.service), t.edits.Used(editLimit, at)
	}
	return t
}

// isEdited reports whether the Service was edited since the last call.
func (t tried) isEdited(service *corev1.Service) bool {
	return t.uid == service.UID && t.shape != shapeOf(service)
}

// untilEdit returns the time until the provider may be called for the last edit of
// the Service. It returns 0 or less if the provider may be called now.
func untilEdit(o observed) time.Duration {
	if !o.tried.isEdited(o.service) {
		return 0
	}
	return o.tried.edits.Next(editLimit).Sub(o.now)
}

// withPauseBetweenEdits returns a plan to wait if p calls Ensure for an edit and the
// Service was edited too often. Otherwise it returns p. If the Service was not edited
// for a long time, its next edit resets the delays after failures.
func withPauseBetweenEdits(o observed, p plan) plan {
	after := untilEdit(o)
	switch {
	case p.do != ensure:
		return p
	case after <= 0 && o.tried.isEdited(o.service) && !o.tried.edits.IsWhole(o.now):
		p.delays = o.memory.failure.delays
		return p
	case after <= 0:
		return p
	case o.memory.failure.attempts > 0:
		return waitFor(o, after)
	default:
		return waitToEdit(o, after)
	}
}

// withPauseBetweenRemovals returns a plan to wait if p repeats a removal too soon and
// the Service is not being deleted. Otherwise it returns p. Without the pause, somebody
// who keeps putting the finalizer back would cause one removal after the other.
func withPauseBetweenRemovals(o observed, p plan) plan {
	after := o.tried.edits.Next(editLimit).Sub(o.now)
	isAgain := o.tried.uid == o.service.UID && o.tried.shape == removal && o.memory.failure.attempts == 0
	if p.do != remove || !isAgain || after <= 0 || o.service.DeletionTimestamp != nil {
		return p
	}
	p = plan{do: wait, why: editedOftenCause().Message, after: after, awaited: true, memory: o.memory}
	if after > slowCallAfter {
		p.tried, p.writes.events = o.tried.recorded(o.now)
	}
	return p
}

// recorded returns an event that reports that an edit waits, and the value of t after
// this event. It returns no event if such an event was recorded a short time ago.
func (t tried) recorded(now time.Time) (tried, []message.Event) {
	if now.Sub(t.recordedAt) < repeatEvent {
		return t, nil
	}
	t.recordedAt = now
	return t, []message.Event{editedOftenEvent()}
}

// waitToEdit returns the plan to wait before the call for an edit. If the wait is
// longer than slowCallAfter, the Service shows the wait, at most once in
// conditionPause. Without this limit, somebody who makes and undoes an edit again and
// again could change the conditions all the time.
func waitToEdit(o observed, after time.Duration) plan {
	cause := editedOftenCause()
	p := plan{do: wait, why: cause.Message, after: after, awaited: true, memory: o.memory}
	if pause := o.tried.shownAt.Add(conditionPause).Sub(o.now); after <= slowCallAfter || pause > 0 {
		return p
	}
	conditions, _ := outdated(o, waitingConditions(o, cause)...)
	p = p.withConditions(conditions, o.now)
	p.tried, p.writes.events = o.tried.recorded(o.now)
	p.tried.shownAt = o.now
	return p
}
