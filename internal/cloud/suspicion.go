package cloud

import (
	"slices"
	"time"
)

const (
	// A comparison (see the type suspicion) begins when recent calls for minSuspects
	// distinct objects have failed with unclassified errors. If no recent call has
	// succeeded, minSuspectsOfNone objects are enough. Once slower calls have helped,
	// minSuspectsAgain objects are enough.
	minSuspects       = 5
	minSuspectsOfNone = 3
	minSuspectsAgain  = 2
	// Errors that mention a used-up quota count for the whole cloud once recent calls
	// for minSpeakers distinct objects have failed with such errors. While the rate is
	// limited, minSpeakersAgain objects are enough.
	minSpeakers      = 3
	minSpeakersAgain = 2
	// recentOutcomes and recentFor are the maximum number and the maximum age of the
	// calls that count as recent.
	recentOutcomes = 32
	recentFor      = 10 * time.Second
	// enoughAnswers is the number of answers that a comparison needs. If there are fewer
	// suspects, it needs one answer about each suspect.
	enoughAnswers = 3
	// maxProbing is the longest duration of a comparison. After that time it no longer
	// waits for objects that were not tried again.
	maxProbing = time.Minute
	// If no call succeeds, calls are slowed down further, at most maxVain times.
	maxVain = 2
	// An object that is the cause of its own failures is remembered for
	// ownReasonFor. At most about maxOwnReasons of these objects are remembered.
	ownReasonFor  = time.Hour
	maxOwnReasons = 4096
	// If a refused call has taken minOwnRetries or longer, and much longer than calls
	// usually take, the provider has probably retried it.
	minOwnRetries = 2 * time.Second
	// verdictDelay is the delay before a caller gets an unclassified failure.
	// During the delay, other calls can show whether they fail as well.
	verdictDelay = 250 * time.Millisecond
)

// suspicion finds out whether unclassified failures mean that the quota of the cloud is
// used up. When calls for many distinct objects fail at once, a comparison begins:
// calls are slowed down, and the failed calls are repeated. If the repeated calls
// succeed, the cause was the quota. If they fail again while other calls succeed, their
// objects are the cause. If no call succeeds, slower calls do not help, and the limiter
// returns to the former rate. In that case the cloud might be down, which the breaker
// finds out. The zero value is ready to use.
type suspicion struct {
	phase    phase
	recent   []outcome            // the recent outcomes, oldest first
	speakers []outcome            // the recent failures that mention a used-up quota
	suspects map[string]bool      // objects whose calls have failed; the value is true if a call has failed again while calls were slow
	own      map[string]time.Time // objects that are the cause of their own failures, with the time at which that was found out
	began    time.Time            // when calls were slowed down
	// helped is the number of suspects for which a call has succeeded, and again is the
	// number of those for which a call has failed. Only calls that began after calls
	// were slowed down are counted.
	helped, again int
	vain          int // comparisons in a row without a success
}

// phase is the assumed cause of unclassified failures.
type phase int

const (
	unsuspected phase = iota // the objects themselves are the cause
	probing                  // the quota might be the cause; calls are slowed down to find out
	congested                // the quota is the cause
)

// outcome is the outcome of a call: a success or an unclassified failure.
type outcome struct {
	object         string
	started, ended time.Time
	failed         bool
}

// verdict says, in words for the log, what an outcome means for the rate.
type verdict string

const (
	noVerdict verdict = ""
	suspect   verdict = "many objects fail at once, as they would if the request quota of the cloud were used up"
	slower    verdict = "calls still fail"
	confirm   verdict = "calls succeed now that they are slower"
	refute    verdict = "calls for the same objects keep failing while calls for others succeed"
	giveUp    verdict = "calls for the same objects keep failing although calls are made more slowly"
)

// observe records an outcome.
func (s *suspicion) observe(o outcome) verdict {
	if !o.failed {
		s.vain = 0
		delete(s.own, o.object)
	} else if s.hasOwnReason(o) {
		return noVerdict
	}
	switch s.phase {
	case probing:
		return s.compare(o)
	case unsuspected, congested:
	}
	s.recent = remember(s.recent, o)
	needed := minSuspects
	switch {
	case s.phase == congested:
		needed = minSuspectsAgain
	case !slices.ContainsFunc(s.recent, func(o outcome) bool { return !o.failed }):
		needed = minSuspectsOfNone
	}
	if !o.failed || !o.started.After(s.began) || distinctFailures(s.recent, s.began) < needed {
		return noVerdict
	}
	s.begin(o.ended)
	return suspect
}

// said records a failure that mentions a used-up quota. It reports whether such
// failures now count for the whole cloud, because enough distinct objects have had one
// recently.
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

// covers reports whether the quota is the assumed cause of this object's failure.
// If it is, the caller repeats the call.
func (s *suspicion) covers(object string) bool {
	if _, own := s.own[object]; own {
		return false
	}
	failedAgain, suspected := s.suspects[object]
	return s.phase == congested || s.phase == probing && suspected && !failedAgain
}

// end ends the suspicion. Objects that are the cause of their own failures are still
// remembered.
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
	*s = suspicion{phase: probing, own: s.own, speakers: s.speakers, suspects: suspects, began: now, vain: s.vain}
}

// compare counts an outcome while calls are slow, and returns the verdict so far.
func (s *suspicion) compare(o outcome) verdict {
	failedAgain, suspected := s.suspects[o.object]
	switch {
	case !o.started.After(s.began):
		if o.failed { // The call began while calls were not slow yet.
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

// decide returns the verdict of the comparison, or noVerdict if it needs more
// outcomes. It considers only calls that began after calls were slowed down. It
// counts the suspects that have succeeded, the suspects that have failed again, and
// the outcomes for other objects.
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
	case s.again+failures >= minSuspects && s.vain < maxVain:
		s.vain++
		s.begin(now)
		return slower
	case s.again+failures >= minSuspects, now.Sub(s.began) > maxProbing && s.again > 0 && s.helped == 0:
		s.rememberOwnReasons(now)
		s.end()
		return giveUp
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

// hasOwnReason reports whether the object is known to be the cause of its failures.
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
	for object := range s.suspects { // including objects that were not tried again yet
		s.own[object] = now
	}
	for _, o := range s.recent {
		if o.failed {
			s.own[o.object] = now
		}
	}
}

// remember appends an outcome to the recent ones, and drops those that are too old
// or too many.
func remember(recent []outcome, o outcome) []outcome {
	recent = append(recent, o)
	from := max(len(recent)-recentOutcomes, 0)
	for o.ended.Sub(recent[from].ended) > recentFor {
		from++
	}
	return recent[from:]
}

// distinctFailures returns the number of distinct objects with a failed call that began
// after the given time.
func distinctFailures(recent []outcome, after time.Time) int {
	failed := map[string]bool{}
	for _, o := range recent {
		if o.failed && o.started.After(after) {
			failed[o.object] = true
		}
	}
	return len(failed)
}
