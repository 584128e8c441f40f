package cloud

import (
	"errors"
	"time"
)

// meaning says what the end of a call reveals about its class.
type meaning int

const (
	saysNothing     meaning = iota
	answered                // the cloud has answered
	refused                 // the request quota is used up
	hasFailed               // the cloud may be down, or denies access
	unreadable              // either of the two, or a reason of the object
	failedForTenant         // the cloud may be down, but the owner of a Service can cause it
	returned                // a watch has returned
)

// meaningFor returns the meaning of the end of a call. A tenant can cause errors of most
// kinds with its Services.
func meaningFor(c call, err error) meaning {
	if c.waits && err == nil {
		return returned // The call began long ago, perhaps before an outage.
	}
	if isOfEach(err) {
		return saysNothing // Each of the errors says something.
	}
	isTenants, evidence := c.tenant != "", EvidenceOf(err)
	switch kind := KindOf(err); kind {
	case Succeeded, NotFound, Conflict, QuotaExceeded:
		return answered
	case Throttled:
		return refused
	case Pending, Invalid, Failed:
		switch {
		case kind == Failed && evidence == Unread:
			return unreadable
		case !isTenants: // The provider might have rejected a Service without asking the cloud.
			return answered
		}
	case Denied, Unavailable, TimedOut:
		if isTenants && (kind == Denied || evidence != Typed) {
			return failedForTenant
		}
		return hasFailed
	case NotImplemented, Elsewhere, Panicked, Slow, Canceled:
	case NoAnswer: // Some providers return nil for unknown Nodes.
	}
	return saysNothing
}

// effect has the consequences of the end of a call.
type effect struct {
	// again is the time to wait before a failed call is tried again. It is 0 if calls
	// are not held back.
	again   time.Duration
	parked  bool   // the call is kept, and made again
	changed string // why calls are limited from now on, for the log
}

// mark adds the effect to the error of the call.
func (e effect) mark(err error) {
	if failed, ok := errors.AsType[*Error](err); ok && e.again > 0 {
		failed.RetryAfter, failed.held, failed.parked = max(failed.RetryAfter, e.again), true, e.parked
	}
}
