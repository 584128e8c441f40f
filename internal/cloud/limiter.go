package cloud

import (
	"context"
	"sync"
	"time"
)

const (
	// decreaseFactor is the part of the rate that is left after the cloud has
	// throttled a call. The decrease is small, because the cloud's quota has
	// usually filled up again when the pause is over.
	decreaseFactor = 0.7
	// increasePerSecond times the rate right after a decrease is how much the rate then
	// grows in each second. If fewer calls succeed than the rate allows, the growth is
	// slower.
	increasePerSecond = 0.05
	// minRate is the lowest rate, in calls a second.
	minRate = 0.2
	// unlimitedAfter is how long after the last throttled call the limit ends.
	unlimitedAfter = 10 * time.Minute
	// maxCatchUp bounds the lost time that calls make up for after a timer fired late.
	maxCatchUp = 100 * time.Millisecond
	// defaultPause is the pause if the cloud names none. maxPause bounds the pause
	// that the cloud names.
	defaultPause = time.Second
	maxPause     = 5 * time.Minute
	// maxOwnPause bounds the pause that grows while the cloud refuses calls and none
	// succeeds in between.
	maxOwnPause = time.Minute
	// coldCalls is how many calls may run at the same time when none has succeeded for
	// coldAfter, or for restAfter while none is under way, because the cloud may be
	// down. Each one that succeeds allows one more. If these calls hang, another one
	// may begin coldEvery after the last one began.
	coldCalls = 3
	restAfter = time.Second
	coldAfter = 10 * time.Second
	coldEvery = 4 * time.Second
	// firstCalls is how many calls may run at the same time at first, when calls
	// succeed. While at least firstCalls/2 run, the number grows. It grows by
	// moreCallsPerSecond in a second if a call takes longCall or longer. If calls are
	// short, it grows more slowly, because a few short calls at a time are many in a
	// second. So only few calls are refused before the limiter knows the quota, even
	// if the cloud allows a burst first.
	firstCalls         = 10
	moreCallsPerSecond = 32
	longCall           = 0.2 // seconds
	// probeEvery is how long to wait for the call that tests whether the cloud
	// still refuses calls. If it has not returned then, another one may begin.
	probeEvery = 10 * time.Second
	// minInitialRate, in calls a second, is the lowest rate that is assumed
	// when the first call is throttled. While this process makes few calls,
	// their rate says little about the quota.
	minInitialRate = 20
	// minIncrease, in calls a second, is the lower bound of limiter.increase.
	minIncrease = 0.1
)

// limiter decides when each call may begin. It always bounds how many calls run at
// the same time. Unless there is a Ceiling, the rate has no bound until the cloud
// throttles a call, or many calls fail with errors that cannot be classified. From
// then on the rate adapts to the cloud's quota: additive increase, multiplicative
// decrease, and no call before the time that the cloud has named.
type limiter struct {
	mu            sync.Mutex
	rate          float64   // calls a second, 0 = no limit; guarded by mu
	increase      float64   // by how much the rate grows in a second; guarded by mu
	next          time.Time // when the next call may start; guarded by mu
	lastDecrease  time.Time // guarded by mu
	lastThrottled time.Time // guarded by mu
	refusals      int       // decreases without a success in between; guarded by mu
	recent        window    // calls that succeeded; guarded by mu
	usual         float64   // how long such calls take, in seconds; guarded by mu

	turns turns       // calls that wait; guarded by mu
	timer *time.Timer // fires when one of them may start; guarded by mu
	// underWay counts the calls that have begun and not returned, lasting those of
	// them that take long. width is how many others may be under way, firstCalls at
	// most. begun is when the last call began, and success when one last succeeded.
	// grown is the time from which the number of these others may grow beyond
	// firstCalls. All are guarded by mu.
	underWay, lasting, width int
	begun, success, grown    time.Time
	// probed is the time until which no other call begins while one call tests
	// whether the cloud still refuses calls; guarded by mu.
	probed time.Time

	ceiling   ceiling   // guarded by mu
	suspicion suspicion // guarded by mu
	// before is the rate before the suspicion, 0 = no limit; guarded by mu.
	before float64
}

// wait returns when the call may start. If it returns nil, the caller calls
// ended when the call has ended.
func (l *limiter) wait(ctx context.Context, p priority) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	own := l.enter(p)
	select {
	case <-own.begun:
	case <-ctx.Done():
	}
	err := ctx.Err()
	if err != nil {
		l.leave(own)
	}
	return err
}

func (l *limiter) enter(p priority) *turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.turns.add(p)
	l.serve()
	return own
}

// leave removes a waiting call that will not be made.
func (l *limiter) leave(own *turn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-own.begun:
		l.underWay--
		l.probed = time.Time{}
		l.serve()
	default:
		l.turns.remove(own)
	}
}

// ended records the end of a call that wait has let through.
func (l *limiter) ended() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.underWay--
	l.probed = time.Time{}
	l.serve()
}

// serve starts the calls whose turn has come, and sets the timer for the next
// one. The caller holds mu.
func (l *limiter) serve() {
	for !l.turns.empty() {
		now := time.Now()
		if delay := l.delay(now); delay > 0 {
			if l.timer == nil {
				l.timer = time.AfterFunc(delay, l.wake)
				return
			}
			l.timer.Reset(delay)
			return
		}
		close(l.turns.next().begun)
		l.underWay++
		l.begun = now
		l.ceiling.spend()
		if l.refusals > 0 {
			l.probed = now.Add(probeEvery)
		}
		l.spend(now)
	}
}

// delay returns how long the next call has to wait, and takes note of what it waits
// for. The caller holds mu.
func (l *limiter) delay(now time.Time) time.Duration {
	quota, bound := l.next.Sub(now), l.ceiling.delay(now, l.underWay)
	switch {
	case bound > 0:
		l.ceiling.waits(CeilingLimits, now)
	case quota > 0 && l.rate > 0:
		l.ceiling.waits(QuotaLimits, now)
	}
	return max(quota, bound, l.delayOfOneMore(now))
}

func (l *limiter) wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serve()
}

// delayOfOneMore returns how long to wait before one more call may begin. The
// caller holds mu.
func (l *limiter) delayOfOneMore(now time.Time) time.Duration {
	switch {
	case l.width == 0:
		l.width = coldCalls
	case now.Sub(l.success) > coldAfter, now.Sub(l.success) > restAfter && l.underWay == 0:
		l.width = min(l.width, coldCalls)
	}
	others := l.underWay - l.lasting
	if others < firstCalls/2 {
		l.grown = now
	}
	growth := moreCallsPerSecond * min(max(l.usual/longCall, 0.1), 1)
	more := l.grown.Add(time.Duration(float64(others+1-firstCalls) / growth * float64(time.Second)))
	if others >= l.width && l.width < firstCalls {
		more = l.begun.Add(coldEvery)
	}
	return max(more.Sub(now), l.probed.Sub(now))
}

// lasts takes note that a call under way takes long. From then on it does not
// keep other calls from beginning.
func (l *limiter) lasts() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lasting++
	l.serve()
}

// lastedUntilNow records the end of a call that lasts was called for.
func (l *limiter) lastedUntilNow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lasting--
}

// hangsAfter returns how long a question may take before it counts as hanging.
func (l *limiter) hangsAfter() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(hangsAfter, time.Duration(4*l.usual*float64(time.Second)))
}

// told takes note of what the end of a call means for the breaker. If the breaker has
// opened, the quota is not the cause of the failures, so a rate that was lowered only
// on suspicion becomes what it was before.
func (l *limiter) told(e effect) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.failed && time.Since(l.success) > downAfter {
		l.width = max(l.width-1, 1)
	}
	if !e.opened {
		return
	}
	if l.suspicion.phase == probing {
		l.rate = l.before
	}
	l.suspicion.end()
}

// spend records the start of a call. The caller holds mu.
func (l *limiter) spend(now time.Time) {
	if l.rate == 0 {
		return
	}
	if earliest := now.Add(-maxCatchUp); l.next.Before(earliest) {
		l.next = earliest
	}
	l.next = l.next.Add(time.Duration(float64(time.Second) / l.rate))
}

// pause returns how long the quota delays the next call; 0 if the call may start now.
func (l *limiter) pause() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(time.Until(l.next), 0)
}

// succeeded takes note of a call that the cloud has answered within its quota.
// took is how long the call lasted, object is what the call was about.
func (l *limiter) succeeded(took time.Duration, object string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.recent.add(now)
	l.refusals = 0
	l.success, l.width = now, min(l.width+1, firstCalls)
	l.usual += (took.Seconds() - l.usual) / 8
	switch {
	case l.rate == 0:
	case now.Sub(l.lastThrottled) > unlimitedAfter:
		l.rate = 0
		l.suspicion.end()
	default:
		l.rate += l.increase / l.rate
	}
	l.apply(l.suspicion.observe(outcome{object: object, started: now.Add(-took), ended: now}), now.Add(-took))
}

// throttled takes note that the cloud has throttled a call that began at
// started, and that it asks for the pause.
func (l *limiter) throttled(started time.Time, pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.suspicion.end() // The cloud itself says that the quota is used up.
	l.decrease(started, pause)
}

// saysThrottled takes note that a call has failed with an error that mentions a
// used-up quota. The words may be the cloud's or a user's.
func (l *limiter) saysThrottled(started time.Time, pause time.Duration, object string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.suspicion.said(outcome{object: object, started: started, ended: now, failed: true}, l.rate > 0) {
		l.decrease(started, pause)
	}
}

// failed records that a call has failed with an error that cannot be classified. If
// that changes the rate, it returns the reason.
func (l *limiter) failed(started time.Time, object string) (why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.apply(l.suspicion.observe(outcome{object: object, started: started, ended: time.Now(), failed: true}), started)
}

// mayBeThrottled reports whether a used-up quota is the probable cause if calls for
// this object fail with errors that cannot be classified.
func (l *limiter) mayBeThrottled(object string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.suspicion.covers(object)
}

// retriesInside reports whether the provider has probably retried a call itself:
// the call took unusually long before it was refused.
func (l *limiter) retriesInside(took time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return took >= minOwnRetries && took.Seconds() > 3*l.usual
}

// apply changes the rate as the suspicion asks. The caller holds mu.
func (l *limiter) apply(v verdict, started time.Time) (why string) {
	switch v {
	case noVerdict, confirm:
	case suspect:
		l.before = l.rate
		l.decrease(started, defaultPause)
	case slower:
		l.decrease(started, defaultPause)
	case refute:
		l.rate = l.before
	case giveUp:
		l.rate, l.refusals = l.before, 0
	}
	return string(v)
}

// decrease lowers the rate and begins a pause. Calls that run at the same time are
// refused together, so they decrease the rate only once. While no call succeeds,
// the pause grows. The caller holds mu.
func (l *limiter) decrease(started time.Time, pause time.Duration) {
	now := time.Now()
	l.lastThrottled = now
	isNew := started.After(l.lastDecrease)
	if isNew {
		l.refusals++
	}
	const doublings = 6 // From here on the pause does not grow.
	grown := min(defaultPause<<min(max(l.refusals-1, 0), doublings), maxOwnPause)
	l.startNoneFor(now, max(pause, grown))
	if !isNew {
		return
	}
	l.lastDecrease = now
	if l.rate == 0 {
		l.rate = max(l.recent.rate(now), minInitialRate)
	}
	l.rate = max(l.rate*decreaseFactor, minRate)
	l.increase = max(l.rate*increasePerSecond, minIncrease)
}

// unavailable takes note that the cloud is unavailable and that it asks for the
// pause.
func (l *limiter) unavailable(pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.startNoneFor(time.Now(), pause)
}

// startNoneFor keeps calls from starting before the pause is over. The caller
// holds mu.
func (l *limiter) startNoneFor(now time.Time, pause time.Duration) {
	if until := now.Add(min(pause, maxPause)); until.After(l.next) {
		l.next = until
	}
}

// callsPerSecond is the rate for a metric: 0 = no limit.
func (l *limiter) callsPerSecond() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rate
}
