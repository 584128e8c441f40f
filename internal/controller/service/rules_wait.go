package service

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

const (
	// firstRetry and longestRetry have the same values as in upstream.
	firstRetry   = 5 * time.Second
	longestRetry = 5 * time.Minute
	// slowCallAfter is the time after which the Service shows that a call takes long.
	slowCallAfter = 30 * time.Second
	// queuedAfter is the time for which a Service waits behind others before an event
	// says so.
	queuedAfter = time.Minute
)

// editLimit limits the calls to the provider for edits of a Service. It allows five
// calls in a row, for a person who tries out an annotation. Then it allows one call in
// two minutes, for a program that changes an annotation all the time. Calls for edits
// are at least five seconds apart, so edits in quick succession share a call. The first
// version of a Service and its deletion do not count. The removal of a load balancer
// counts only if it repeats an earlier removal, without a call of Ensure in between.
var editLimit = allowance.Limit{Burst: 5, Every: 2 * time.Minute, Least: 5 * time.Second}

// retryDelay returns the delay after a failure, given the number of earlier failures.
func retryDelay(earlier int) time.Duration {
	const doublings = 6 // With more doublings, the delay would not grow further.
	return min(firstRetry<<min(earlier, doublings), longestRetry)
}

// withBackoff gets a plan that makes a call. It returns this plan, or a plan to wait if
// the same call has failed a short time ago, or if the call uses the allowance for edits
// and that is used up.
func withBackoff(o observed, p plan) plan {
	p.memory = o.memory
	f := o.memory.failure
	isSame := f.attempts > 0 && f.shape == shapeFor(p.service) && (f.during == remove) == (p.do == remove)
	after := o.memory.edits.used.Next(editLimit).Sub(o.now)
	switch {
	case isSame && o.now.Before(f.until):
		return waitFor(o, f.until.Sub(o.now))
	case after <= 0 || !o.memory.edits.count(p):
		return p
	case f.attempts > 0:
		return waitFor(o, after)
	default:
		return waitToEdit(o, after)
	}
}

// waitFor returns a plan to wait. The plan shows the cause of the wait in conditions,
// and in an event if the reason is new or the last event was long ago.
func waitFor(o observed, after time.Duration) plan {
	f := o.memory.failure
	cause := o.shownCause()
	p := plan{do: wait, why: cause.Message, after: after, awaited: isAwaited(o), memory: o.memory}
	if reason := f.recordedAs(); o.memory.recorded.IsNew(reason, o.now) {
		p.memory.recorded = o.memory.recorded.With(reason, o.now)
		event := callFailedEvent(f)
		if o.isOrphaned() {
			event = orphanKeptEvent(f)
		}
		p.writes.events = []message.Event{event}
	}
	conditions, later := outdated(o, waitingConditions(o, cause)...)
	p = p.withConditions(conditions, o.now)
	if later > 0 {
		p.after = min(p.after, later)
	}
	return p
}

// isAwaited reports whether somebody waits for the next attempt, because the load
// balancer is new, has to change or has to be removed. It returns false if the calls
// have failed for a longer time, so that the retries of many Services do not delay the
// updates of nodes for all others.
func isAwaited(o observed) bool {
	f := o.memory.failure
	return (f.during == remove || f.shape != o.memory.shape) && o.now.Sub(f.since) < longestRetry
}

// isForOwner reports whether the owner of the Service waits for this action. The owner
// does not wait for a routine check.
func (p plan) isForOwner() bool {
	return !p.routine && p.do != doNothing && p.do != forget && p.do != wait
}

// recordedAs returns the reason under which the failure is remembered as news. That a
// load balancer cannot be deleted is news, although it could not be made for the same
// reason.
func (f failure) recordedAs() string {
	if f.during == remove {
		return f.cause.Reason + " " + string(remove)
	}
	return f.cause.Reason
}

// edits describes the last call to the provider about a Service. It also has the
// allowance for edits of the Service. It is kept after the removal of the load balancer.
// Otherwise a Service would get a new allowance with each change of its type.
type edits struct {
	uid types.UID
	// shape is the shape of the Service in the last call. After a removal, it is the
	// constant named removal.
	shape string
	used  allowance.Allowance
	// shownAt is the time when the Service last showed that an edit waits. recordedAt
	// is the time of the last event that said so.
	shownAt, recordedAt time.Time
}

// removal is the value of edits.shape after a load balancer was removed.
const removal = "removed"

// have reports whether the Service was edited since the last call.
func (e edits) have(service *corev1.Service) bool {
	return e.uid == service.UID && e.shape != shapeOf(service)
}

// count reports whether the call of a plan uses the allowance. A call of Ensure does if
// the Service was edited. A removal does if it repeats one that has succeeded and the
// Service still exists: somebody keeps putting the finalizer back.
func (e edits) count(p plan) bool {
	switch p.do {
	case ensure:
		return e.have(p.service)
	case remove:
		return e.uid == p.service.UID && e.shape == removal && p.memory.failure.attempts == 0 && p.service.DeletionTimestamp == nil && !p.orphaned
	case doNothing, forget, addFinalizer, update, find, publish, release, wait:
	}
	return false
}

// after returns the value of e after the call of a plan, which ended at the given time.
func (e edits) after(p plan, at time.Time) edits {
	if p.do != ensure && p.do != remove {
		return e
	}
	if e.uid != p.service.UID {
		e = edits{uid: p.service.UID, shape: shapeOf(p.service)}
	}
	if e.count(p) {
		e.used = e.used.Used(editLimit, at)
	}
	if e.shape = removal; p.do == ensure {
		e.shape = shapeOf(p.service)
	}
	return e
}

// waitToEdit returns the plan to wait before the call for an edit. If the wait is
// longer than slowCallAfter, the Service shows the wait, at most once in
// conditionPause. Without this limit, somebody who makes and undoes an edit again and
// again could change the conditions all the time.
func waitToEdit(o observed, after time.Duration) plan {
	cause := editedOftenCause()
	p := plan{do: wait, why: cause.Message, after: after, awaited: true, memory: o.memory}
	e := &p.memory.edits
	if after <= slowCallAfter || o.now.Sub(e.shownAt) < conditionPause {
		return p
	}
	conditions, _ := outdated(o, waitingConditions(o, cause)...)
	p = p.withConditions(conditions, o.now)
	if e.shownAt = o.now; o.now.Sub(e.recordedAt) >= showing.RepeatAfter {
		e.recordedAt, p.writes.events = o.now, []message.Event{reasonEditedOften.Event(cause.Message)}
	}
	return p
}

// offerBackends makes the backends follow the Nodes while Ensure fails, or has to wait
// because the finalizer is missing (promise S3). If
// the load balancer works but does not have the newest set of nodes, offerBackends
// replaces the wait for the next Ensure by an update. The failure is shown first,
// because an update may have to wait for other Services. The update is made even if the
// failure cannot be shown, for example because a webhook refuses the condition.
//
// The update is made even if the next Ensure is already due. Otherwise the update might
// never be made, because an Ensure is always due if calls take longer than the delays.
//
// If the update with a set fails, the same set is tried again only after the next
// failure of Ensure. So the update needs no delay of its own.
//
// A set that differs because its owner has edited the Service waits for the Ensure, as every
// edit does. Otherwise the calls for edits would have no limit.
func offerBackends(o observed, p plan) plan {
	m := o.memory
	switch {
	case p.do != wait && !isRepeated(o), !isProvided(o), m.backends == o.backends, m.offered == o.backends:
		return p
	case m.service != nil && choosesOtherwise(m.service, o.service):
		return p
	case p.do == wait && (p.writes.patches() && !m.unwritten || len(p.writes.events) > 0):
		p.after, p.awaited = yieldDelay, false
		return p
	default:
		return plan{do: update, why: "the set of nodes has changed while the load balancer cannot be ensured", service: o.service, memory: m}
	}
}

// isRepeated reports whether the next Ensure repeats an Ensure that has failed.
func isRepeated(o observed) bool {
	f := o.memory.failure
	return f.during == ensure && f.shape == shapeFor(o.service)
}

// isProvided reports whether the Service has a load balancer from an earlier call of
// this process or of an earlier process.
func isProvided(o observed) bool {
	return !o.memory.elsewhere && (o.memory.status != nil || len(o.service.Status.LoadBalancer.Ingress) > 0)
}
