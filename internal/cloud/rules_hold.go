package cloud

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// hold keeps the calls of a class back while the cloud answers none of them. One call at
// a time is then made, the probe: a call of an ordinary caller, and only that caller gets
// the answer. The first answer ends the hold. The zero value holds nothing back.
type hold struct {
	opened, probed time.Time // zero: calls are not held back; when the last probe began
	after          time.Time // the time that the cloud has named for the next call
	kind           Kind      // Throttled, Denied or Unavailable
	unread         bool      // nobody can read the errors
	doubts         int       // of the last probes, how many failed with errors that nobody can read
	err            error     // the error that began the hold; nil if its call was about a tenant's object
}

func (h *hold) isOpen() bool { return !h.opened.IsZero() }

// probe records how a probe has ended, and reports whether it says that the reason of the
// hold is over: the errors that began it could be read, and those of several probes in a row
// cannot. They may be the errors of an object that always fails, and if nobody else calls,
// no answer would ever end the hold.
func (h *hold) probe(m meaning) (over bool) {
	if m != unreadable || h.unread || h.kind == Throttled {
		h.doubts = 0
		return false
	}
	h.doubts++
	return h.doubts >= few
}

// parks reports whether the call is kept although calls are held back: it waits for the
// quota, or an outage of a few seconds is not to show on its object.
func (h *hold) parks(c call, now time.Time) bool {
	return h.kind == Throttled || h.kind != Denied && c.priority == highPriority && now.Sub(h.opened) < longestPause
}

// heldBack returns the error of a call that is not made.
func (h *hold) heldBack(c call, again time.Duration) *Error {
	err := map[Kind]error{Denied: errDenied, Throttled: errQuota}[h.kind]
	if err == nil {
		err = errHeld
	}
	if h.err != nil && c.tenant == "" {
		err = fmt.Errorf("%w: %w", err, h.err)
	}
	return &Error{Call: c.method, Kind: h.kind, RetryAfter: again, Err: err, held: true, unmade: true}
}

var (
	errHeld   = errors.New("the call was not made, because such calls fail for other objects, too; one call at a time finds out when the cloud answers again")
	errDenied = errors.New("the call was not made, because the cloud denies such calls for other objects, too; one call at a time finds out when it allows them again")
)

// probes decides when the next probe begins. All classes whose calls are held back share
// the probes, so an outage of the whole cloud costs as few calls as that of one class.
type probes struct {
	next     time.Time
	pause    time.Duration
	underWay bool // the last probe has not ended
}

// begin records the beginning of a probe.
func (p *probes) begin(h *hold, now time.Time) {
	h.probed, p.underWay = now, true
	p.pause = min(4*p.pause, longestPause)
	p.next = now.Add(p.pause)
}

// delay returns the time until the next probe of the class can begin.
func (p *probes) delay(h *hold, now time.Time) time.Duration {
	wait := max(p.next.Sub(now), h.after.Sub(now))
	if h.kind == Denied && h.probed.Sub(h.opened) > deniedLong {
		wait = max(wait, h.probed.Add(rarely).Sub(now))
	}
	return wait
}

// again returns the time after which a call that is held back is made again. Calls for
// objects that wait come first.
func (p *probes) again(c call, now time.Time) time.Duration {
	later := time.Duration(rand.Float64() * float64(firstPause) / 2) //nolint:gosec // no secret
	if c.priority != highPriority {
		later += firstPause / 2
	}
	if p.underWay {
		return later + slow
	}
	return max(p.next.Sub(now), 0) + later
}
