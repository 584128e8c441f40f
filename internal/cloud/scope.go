package cloud

import (
	"slices"
	"time"
)

// scope is what is known of the cloud, or of a part.
type scope struct {
	answered time.Time // the last answer
	// failed are the objects whose calls have failed since then, maxOwnReasons at most.
	failed map[string]bool
	began  time.Time // when the first of them failed
	// waits has the objects whose calls were held back and have had no answer since. The
	// value is false once a call for the object was the probe. waits has maxOwnReasons
	// objects at most. waiting has the objects without a probe so far, in the order in
	// which they came, and perhaps objects that have had a probe or an answer since.
	waits   map[string]bool
	waiting []string
	// own are the objects whose calls have failed shortly before another object got
	// an answer. So they fail for reasons of their own, and if they fail again, that
	// says nothing about others.
	own map[string]time.Time

	opened, closed time.Time // when the last hold began, and when a hold last ended
	kind           Kind      // why calls are held back: Denied or Unavailable
	err            error     // the error of the call after which the hold began; nil if that call was about a tenant's object

	pause        time.Duration // the present one between two probes
	probed, next time.Time     // when the last probe began, and when the next one may
	probing      bool          // the last probe has not returned
	// promised are the times of the probes for which callers were told to come back:
	// first a caller whose object has not failed, then one whose object has.
	promised [2]time.Time
	held     time.Time // when a call was last held back
	tried    time.Time // when a call has last ended without an answer, or a probe has begun
}

func (s *scope) isOpen() bool { return s.opened.After(s.closed) }

// used returns when a call of this scope was last held back or has last ended.
func (s *scope) used() time.Time {
	return slices.MaxFunc([]time.Time{s.answered, s.tried, s.held}, time.Time.Compare)
}

// failure is a call that has failed for a reason that many objects may share.
type failure struct {
	object  string
	kind    Kind
	err     error
	started time.Time
	unread  bool
}

// answers takes note of an answer about the object.
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

// fails takes note of a failure. It reports whether a hold begins with it.
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
	if f.unread && s.began.After(since) { // Slower calls may help, so suspicion gets the time to find out.
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

// wait takes note that a call for the object is held back.
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

// hasFailed reports whether the last call for the object has failed, as far as that is
// remembered.
func (s *scope) hasFailed(object string) bool {
	_, own := s.own[object]
	return own || s.failed[object]
}

// isNewest reports whether the object is the newest of those that wait for their first
// probe. If none waits, each object that has not failed counts as the newest. The
// newest comes first, because an object that fails for ever is older than one that was
// just created.
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

// ends takes note of the end of a call without an answer. If it was the probe, the
// next pause begins.
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

// probe takes note that a probe about the object begins. If it does not return, another
// one follows.
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
