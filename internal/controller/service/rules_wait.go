package service

import (
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

const (
	// firstRetry and longestRetry are upstream's.
	firstRetry   = 5 * time.Second
	longestRetry = 5 * time.Minute
	// repeatEvent is the shortest time after which the same reason is recorded again.
	repeatEvent = 30 * time.Minute
	// shortCall is the time below which a call counts as short. During the call that
	// follows a short one, the next Service gets its finalizer.
	shortCall = time.Second
	// slowCallAfter is how long a call may take before the Service shows it.
	slowCallAfter = 30 * time.Second
	// queuedAfter is how long a Service waits behind another one before an event
	// says so.
	queuedAfter = time.Minute
)

// retryDelay returns the delay after a failure. earlier is how many failures
// came before it.
func retryDelay(earlier int) time.Duration {
	const doublings = 6 // From here on the delay does not grow.
	return min(firstRetry<<min(earlier, doublings), longestRetry)
}

// withBackoff returns the plan of a call, or a plan to wait if the same call has
// failed a short time ago.
func withBackoff(o observed, p plan) plan {
	p.memory = o.memory
	f := o.memory.failure
	isSame := f.attempts > 0 && f.shape == shapeFor(p.service) && (f.during == remove) == (p.do == remove)
	if isSame && o.now.Before(f.until) {
		return waitFor(o, f.until.Sub(o.now))
	}
	return p
}

// waitFor shows why the Service waits: as an event when the reason changes, and
// as conditions.
func waitFor(o observed, after time.Duration) plan {
	f := o.memory.failure
	p := plan{do: wait, why: f.cause.Message, after: after, awaited: isAwaited(o), memory: o.memory}
	if o.memory.recorded.isNews(f.cause.Reason, o.now) {
		p.memory.recorded = recordedReason{f.cause.Reason, o.now}
		p.writes.events = []message.Event{callFailedEvent(f)}
	}
	conditions, later := outdated(o, waitingConditions(o, f.cause)...)
	p = p.withConditions(conditions, o.now)
	if later > 0 {
		p.after = min(p.after, later)
	}
	return p
}

// isAwaited reports whether somebody waits for the next attempt: the Service is
// new, has changed or is to be removed, and its calls have failed only for a
// short time. If many Services fail for a long time, their retries must not delay
// the updates of all other Services' nodes.
func isAwaited(o observed) bool {
	f := o.memory.failure
	return (f.during == remove || f.shape != o.memory.shape) && o.now.Sub(f.since) < longestRetry
}

// isForOwner reports whether the owner of the Service waits for this action. The owner
// does not wait for a routine check.
func (p plan) isForOwner() bool {
	return !p.routine && p.do != doNothing && p.do != forget && p.do != wait
}

// isNews reports whether a reason is to be recorded: it has changed, or it was last
// recorded long ago.
func (r recordedReason) isNews(reason string, now time.Time) bool {
	return r.reason != reason || now.Sub(r.at) >= repeatEvent
}
