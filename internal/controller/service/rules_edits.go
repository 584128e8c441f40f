package service

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// editLimit bounds how often the provider is called because a Service was edited:
// five edits in a row are for somebody who tries out an annotation, and one in two
// minutes for a program that changes it all the time. Five seconds bring together
// what is edited in one go. The first version of a Service and its deletion do not
// count. A removal counts if nothing was provided since the last one.
var editLimit = allowance.Limit{Burst: 5, Every: 2 * time.Minute, Least: 5 * time.Second}

// tried is what the provider was last called for about a Service. It outlives the
// memory, which ends with the load balancer. Otherwise a Service whose type changes
// all the time would be a new one each time.
type tried struct {
	uid types.UID
	// shape is the shape of the Service, or removal.
	shape string
	edits allowance.Allowance
	// shownAt is when the Service last showed that an edit waits, recordedAt is
	// when an event last said so.
	shownAt, recordedAt time.Time
}

// removal is the shape of a Service whose load balancer was removed.
const removal = "removed"

// after returns what is known after a call that has ended at this time.
func (t tried) after(p plan, at time.Time) tried {
	if p.do == update {
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
// the Service, 0 or less if it may be called now.
func untilEdit(o observed) time.Duration {
	if !o.tried.isEdited(o.service) {
		return 0
	}
	return o.tried.edits.Next(editLimit).Sub(o.now)
}

// withPauseBetweenEdits returns the plan, or a plan to wait if it is an Ensure for
// one of too many edits. The first edit after a long time resets the delays after
// failures.
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

// withPauseBetweenRemovals returns the plan, or a plan to wait if it removes once
// more what was removed already, and the Service is not being deleted. Whoever puts
// the finalizer back causes another removal, and may put it back all the time.
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

// recorded returns the event that an edit waits, unless it was recorded a short time
// ago, and what is known afterwards.
func (t tried) recorded(now time.Time) (tried, []message.Event) {
	if now.Sub(t.recordedAt) < repeatEvent {
		return t, nil
	}
	t.recordedAt = now
	return t, []message.Event{editedOftenEvent()}
}

// waitToEdit shows that an edit waits, if it waits for longer than what a call may
// take without being shown. A Service that is edited back shows that it is in line
// again, so this is not shown more often than once in conditionPause.
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
