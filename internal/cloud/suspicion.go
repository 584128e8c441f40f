package cloud

import "time"

const (
	// minSuspects is how many distinct objects have to fail unreadably among the
	// last recentOutcomes calls before that is taken for a used up quota, and
	// minSuspectsAgain how many once slower calls have helped.
	minSuspects      = 5
	minSuspectsAgain = 2
	// minSpeakers is how many distinct objects have to fail with words of a used
	// up quota before that is believed for the whole cloud, minSpeakersAgain how
	// many while the rate is limited.
	minSpeakers      = 3
	minSpeakersAgain = 2
	// recentOutcomes and recentFor bound which calls count as recent.
	recentOutcomes = 32
	recentFor      = 10 * time.Second
	// enoughAnswers is how many answers a comparison needs.
	enoughAnswers = 3
	// maxProbing is how long a comparison may last. Objects that are not tried
	// again in that time are not waited for.
	maxProbing = time.Minute
	// ownReasonFor is how long it is remembered that an object fails for a reason
	// of its own, maxOwnReasons for how many objects.
	ownReasonFor  = time.Hour
	maxOwnReasons = 4096
	// maxRateOfBroken, in calls a second, is the rate while every call fails.
	maxRateOfBroken = 5
	// recoverWithin is how soon the rate is back to what it was, once calls
	// succeed again.
	recoverWithin = 10 * time.Second
	// minOwnRetries is how long a refused call lasts at least if the provider has
	// tried again by itself.
	minOwnRetries = 2 * time.Second
	// verdictDelay is how long a failure that nobody can read is kept from its
	// caller, until it is known whether others fail as well.
	verdictDelay = 250 * time.Millisecond
)

// suspicion finds out whether failures that nobody can read mean that the
// quota of the cloud is used up. When many distinct objects fail at once, calls
// are slowed down, and the objects that have failed are asked about again. If
// they succeed now, it was the quota. If they fail again while others succeed,
// they have reasons of their own. Its zero value works.
type suspicion struct {
	phase    phase
	recent   []outcome            // the last ones, oldest first
	speakers []outcome            // the last ones with words of a used up quota
	suspects map[string]bool      // objects that have failed; true: again, while calls were slow
	own      map[string]time.Time // objects with reasons of their own, and since when
	began    time.Time            // when calls were slowed down
	// helped and again are how many suspects have succeeded and failed in calls
	// that began after that.
	helped, again int
}

// phase is what failures that nobody can read are taken for.
type phase int

const (
	unsuspected phase = iota // failures of their objects
	probing                  // perhaps the quota: calls are slow, to find out
	congested                // the quota
	broken                   // failures of the whole cloud, which slower calls do not help
)

// outcome is what became of a call: a success, or a failure that nobody can
// read.
type outcome struct {
	object         string
	started, ended time.Time
	failed         bool
}

// verdict is what an outcome means for the rate, in words for the log.
type verdict string

const (
	noVerdict verdict = ""
	suspect   verdict = "many objects fail at once, as they would if the request quota of the cloud were used up"
	slower    verdict = "objects still fail"
	confirm   verdict = "calls succeed now that they are slower"
	refute    verdict = "objects fail that others do not affect"
	giveUp    verdict = "calls fail although they are slower"
)

// observe takes note of an outcome.
func (s *suspicion) observe(o outcome) verdict {
	if !o.failed {
		delete(s.own, o.object)
	} else if s.hasOwnReason(o) {
		return noVerdict
	}
	switch s.phase {
	case probing, broken:
		return s.compare(o)
	case unsuspected, congested:
	}
	s.recent = remember(s.recent, o)
	needed := minSuspects
	if s.phase == congested {
		needed = minSuspectsAgain
	}
	if !o.failed || !o.started.After(s.began) || distinctFailures(s.recent, s.began) < needed {
		return noVerdict
	}
	s.begin(o.ended)
	return suspect
}

// said takes note of a failure with words of a used up quota, and reports
// whether it speaks for the whole cloud: several distinct objects have said the
// same within seconds.
func (s *suspicion) said(o outcome, limited bool) bool { //nolint:revive // flag-parameter: it is a fact, not a mode
	needed := minSpeakers
	if limited {
		needed = minSpeakersAgain
	}
	s.speakers = remember(s.speakers, o)
	if distinctFailures(s.speakers, time.Time{}) < needed {
		return false
	}
	s.speakers = nil
	return true
}

// covers reports whether a failure of this object is taken for the quota, so
// that the same question is asked again.
func (s *suspicion) covers(object string) bool {
	if _, own := s.own[object]; own {
		return false
	}
	failedAgain, suspected := s.suspects[object]
	return s.phase == congested || s.phase == probing && suspected && !failedAgain
}

// end forgets the suspicion. Objects with reasons of their own are remembered.
func (s *suspicion) end() { *s = suspicion{own: s.own, speakers: s.speakers} }

// begin begins a comparison of the objects that have failed.
func (s *suspicion) begin(now time.Time) {
	suspects := map[string]bool{}
	for object := range s.suspects {
		suspects[object] = false
	}
	for _, o := range s.recent {
		if o.failed && o.started.After(s.began) {
			suspects[o.object] = false
		}
	}
	*s = suspicion{phase: probing, own: s.own, speakers: s.speakers, suspects: suspects, began: now}
}

// compare counts an outcome while calls are slow, and decides when there are
// enough.
func (s *suspicion) compare(o outcome) verdict {
	failedAgain, suspected := s.suspects[o.object]
	switch {
	case !o.started.After(s.began):
		if o.failed { // It was under way when the others failed.
			s.suspects[o.object] = failedAgain
		}
		return noVerdict
	case suspected && o.failed && !failedAgain:
		s.suspects[o.object] = true
		s.again++
	case suspected && !o.failed:
		delete(s.suspects, o.object)
		s.helped++
	case !suspected:
		s.recent = remember(s.recent, o)
	}
	return s.decide(o.ended)
}

// decide compares the suspects with themselves before, and with others.
func (s *suspicion) decide(now time.Time) verdict {
	enough := min(enoughAnswers, s.helped+len(s.suspects))
	failures := distinctFailures(s.recent, s.began)
	successes := len(s.recent) - failures
	switch {
	case s.helped >= enough && s.helped > s.again:
		s.becomes(congested, now)
		return confirm
	case s.again >= enough && successes >= enoughAnswers && successes >= 4*failures:
		s.rememberOwnReasons(now)
		s.end()
		return refute
	case s.phase == broken:
		return noVerdict
	case s.again >= enough && s.helped == 0 && successes == 0:
		s.phase = broken
		return giveUp
	case s.again+failures >= minSuspects:
		s.begin(now)
		return slower
	case now.Sub(s.began) > maxProbing:
		s.becomes(congested, now)
		return confirm
	default:
		return noVerdict
	}
}

func (s *suspicion) becomes(p phase, now time.Time) {
	*s = suspicion{phase: p, own: s.own, speakers: s.speakers, began: now}
}

// hasOwnReason reports whether the object is known to fail for a reason of its
// own.
func (s *suspicion) hasOwnReason(o outcome) bool {
	since, own := s.own[o.object]
	if own && o.ended.Sub(since) > ownReasonFor {
		delete(s.own, o.object)
		return false
	}
	return own
}

func (s *suspicion) rememberOwnReasons(now time.Time) {
	if s.own == nil || len(s.own) > maxOwnReasons {
		s.own = map[string]time.Time{}
	}
	for object, failedAgain := range s.suspects {
		if failedAgain {
			s.own[object] = now
		}
	}
}

// remember returns the recent outcomes with another one.
func remember(recent []outcome, o outcome) []outcome {
	recent = append(recent, o)
	from := max(len(recent)-recentOutcomes, 0)
	for o.ended.Sub(recent[from].ended) > recentFor {
		from++
	}
	return recent[from:]
}

// distinctFailures returns how many distinct objects have failed in calls that
// began after the time.
func distinctFailures(recent []outcome, after time.Time) int {
	failed := map[string]bool{}
	for _, o := range recent {
		if o.failed && o.started.After(after) {
			failed[o.object] = true
		}
	}
	return len(failed)
}
