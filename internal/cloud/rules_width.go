package cloud

import "time"

// width is how many calls of a class may be under way at the same time. It is small
// while the cloud might be down, or its quota used up, so that few calls find that out.
// Each answer allows one more call, up to usualCalls. From there on the width grows with
// time while it is used, and more slowly if calls are short, because a few short calls
// are already many calls a second.
type width struct {
	calls            float64
	answered, failed time.Time // when a call was last answered, and when one last failed
}

// delay returns the time that the next call has to wait. running is the number of calls
// under way. After a failure, a call waits for a moment while the width is small: calls
// of other classes may show meanwhile that the whole cloud is down.
func (w *width) delay(now time.Time, running int) time.Duration {
	if since := now.Sub(w.answered); since > recently || since > moment && running == 0 {
		w.calls = coldCalls
	}
	switch {
	case running >= int(w.calls):
		return untilOneEnds
	case w.calls <= coldCalls:
		return w.failed.Add(tick).Sub(now)
	}
	return 0
}

// answer records an answer of a call that has taken the given time.
func (w *width) answer(now time.Time, took time.Duration, running int) {
	switch {
	case w.calls < usualCalls:
		w.calls++
	case float64(running) >= w.calls/2:
		w.calls += many * min(now.Sub(w.answered).Seconds(), 1) * min(took.Seconds()/slow.Seconds(), 1)
	}
	w.answered = now
}

// fail records a call that has failed as if the cloud were down.
func (w *width) fail(now time.Time) {
	w.calls, w.failed = max(w.calls-1, coldCalls), now
}
