package cloud

import (
	"slices"
	"time"
)

// scope is what the breaker knows about the whole cloud or about one part of it.
type scope struct {
	answered time.Time // the time of the last answer
	// failed has the objects whose calls have failed since the last answer, at most
	// maxOwnReasons.
	failed map[string]bool
	began  time.Time // when the first of these calls failed
	// waits has the objects that have had no answer since a call for them was held
	// back, at most maxOwnReasons. The value is true until a call for the object
	// becomes the probe. waiting has the objects in the order of their arrival. It may
	// still have objects that have had a probe or an answer.
	waits   map[string]bool
	waiting []string
	// own has the objects whose calls failed shortly before another object got an
	// answer. The cause of such a failure is the object, not the cloud. So the next
	// failures for these objects say nothing about other objects.
	own map[string]time.Time

	opened, closed time.Time // when the last hold began, and when a hold last ended
	kind           Kind      // the reason for the hold: Denied or Unavailable
	err            error     // the error that began the hold; nil if its call was about a tenant's object

	pause        time.Duration // the current pause between two probes
	probed, next time.Time     // when the last probe began, and when the next one can begin
	probing      bool          // the last probe has not returned
	// If a call is held back, its caller may be told to come back at the time of the
	// next probe. promised has two such times: the last one for objects that have not
	// failed, and the last one for objects that have failed.
	promised [2]time.Time
	held     time.Time // when a call was last held back
	tried    time.Time // when a call last ended without an answer, or when the last probe began, if that was later
}

func (s *scope) isOpen() bool { return s.opened.After(s.closed) }

// used returns the time at which a call of this scope last ended or was last held
// back.
func (s *scope) used() time.Time {
	return slices.MaxFunc([]time.Time{s.answered, s.tried, s.held}, time.Time.Compare)
}

// failure is a call that has failed for a reason that many objects might share.
type failure struct {
	object  string
	kind    Kind
	err     error
	started time.Time
	unread  bool
}

// answers records an answer about the object.
func (s *scope) answers(object string, now time.Time) {
	delete(s.own, object)
	delete(s.waits, object)
	for other := range s.failed {
		if other != object {
			s.ownReason(other, now)
		}
	}
	s.answered, s.failed = now, nil
	if s.isOpen() {
		s.closed = now
	}
	s.probing = false
}

func (s *scope) ownReason(object string, now time.Time) {
	if s.own == nil || len(s.own) >= maxOwnReasons {
		s.own = map[string]time.Time{}
	}
	s.own[object] = now
}

// fails records a failure. It reports whether a hold begins now.
func (s *scope) fails(f failure, now time.Time) bool {
	s.tried = now
	if s.isOpen() {
		s.remember(f.object)
		s.ends(f.started, now)
		return false
	}
	if since, own := s.own[f.object]; own && now.Sub(since) < ownReasonFor {
		return false
	}
	if len(s.failed) == 0 {
		s.began = now
	}
	s.remember(f.object)
	since := s.answered
	if f.unread && s.began.After(since) { // Slower calls might help, and suspicion needs time to find that out.
		since = s.began
	}
	isLong := now.Sub(since) >= downAfter
	if len(s.failed) < minDown || !isLong && (f.unread || len(s.failed) < manyDown) {
		return false
	}
	s.open(f, now)
	return true
}

func (s *scope) remember(object string) {
	if s.failed == nil {
		s.failed = map[string]bool{}
	}
	if len(s.failed) < maxOwnReasons {
		s.failed[object] = true
	}
}

// wait records that a call for the object is held back.
func (s *scope) wait(object string) {
	if _, known := s.waits[object]; known || s.hasFailed(object) {
		return
	}
	if s.waits == nil || len(s.waits) >= maxOwnReasons {
		s.waits, s.waiting = map[string]bool{}, nil
	}
	s.waits[object] = true
	s.waiting = append(s.waiting, object)
}

// hasFailed reports whether the last call for the object is known to have failed.
func (s *scope) hasFailed(object string) bool {
	_, own := s.own[object]
	return own || s.failed[object]
}

// isNewest reports whether the object is the newest of those that wait for their first
// probe. If no object waits, each object that has not failed counts as the newest. The
// newest object is preferred for the probe, because it might just have been created,
// and is less likely to be one that always fails.
func (s *scope) isNewest(object string) bool {
	for len(s.waiting) > 0 {
		last := len(s.waiting) - 1
		if newest := s.waiting[last]; s.waits[newest] {
			return object == newest
		}
		s.waiting = s.waiting[:last]
	}
	return !s.hasFailed(object)
}

func (s *scope) open(f failure, now time.Time) {
	if s.pause == 0 || now.Sub(s.closed) > flapsWithin {
		s.pause = firstProbe
	}
	s.opened, s.kind, s.err = now, Unavailable, f.err
	if f.kind == Denied {
		s.kind = Denied
	}
	s.next, s.probing = now.Add(s.pause), false
}

// ends records that a call has ended without an answer. If the call was the
// probe, the next pause begins.
func (s *scope) ends(started, now time.Time) {
	if s.probed.IsZero() || started.Before(s.probed) {
		return
	}
	s.pause = min(probeGrowth*s.pause, s.longestPause(now))
	s.next, s.probing = now.Add(s.pause), false
}

func (s *scope) longestPause(now time.Time) time.Duration {
	if s.kind == Denied && now.Sub(s.opened) > deniedFor {
		return deniedProbe
	}
	return longestProbe
}

// probe records that a probe for the object begins. If the probe does not return,
// another one can begin after the pause.
func (s *scope) probe(object string, now time.Time) {
	if s.waits[object] {
		s.waits[object] = false
	}
	switch {
	case s.pause == 0:
		s.pause = firstProbe
	case s.probing: // The last probe hangs.
		s.pause = min(probeGrowth*s.pause, s.longestPause(now))
	}
	s.tried = now
	s.probed, s.next, s.probing = now, now.Add(s.pause), true
}
