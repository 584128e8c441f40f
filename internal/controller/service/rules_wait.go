package service

import (
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

const (
	// firstRetry and longestRetry have the same values as in upstream.
	firstRetry   = 5 * time.Second
	longestRetry = 5 * time.Minute
	// repeatEvent is the shortest time between two events with the same reason.
	repeatEvent = 30 * time.Minute
	// slowCallAfter is the time after which the Service shows that a call takes long.
	slowCallAfter = 30 * time.Second
	// queuedAfter is the time for which a Service waits behind others before an event
	// says so.
	queuedAfter = time.Minute
)

// retryDelay returns the delay after a failure, given the number of earlier failures.
func retryDelay(earlier int) time.Duration {
	const doublings = 6 // With more doublings, the delay would not grow further.
	return min(firstRetry<<min(earlier, doublings), longestRetry)
}

// withBackoff gets a plan that makes a call. It returns this plan, or a plan to wait if
// the same call has failed a short time ago.
func withBackoff(o observed, p plan) plan {
	p.memory = o.memory
	f := o.memory.failure
	isSame := f.attempts > 0 && f.shape == shapeFor(p.service) && (f.during == remove) == (p.do == remove)
	if isSame && o.now.Before(f.until) {
		return waitFor(o, f.until.Sub(o.now))
	}
	return p
}

// waitFor returns a plan to wait. The plan shows the cause of the wait in conditions,
// and in an event if the reason is new or the last event was long ago.
func waitFor(o observed, after time.Duration) plan {
	f := o.memory.failure
	cause := o.shownCause()
	p := plan{do: wait, why: cause.Message, after: after, awaited: isAwaited(o), memory: o.memory}
	if reason := f.recordedAs(); o.memory.recorded.isNew(reason, o.now) {
		p.memory.recorded = o.memory.recorded.with(reason, o.now)
		p.writes.events = []message.Event{callFailedEvent(f)}
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
