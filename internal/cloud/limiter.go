package cloud

import (
	"context"
	"sync"
	"time"
)

const (
	// decreaseFactor is the factor by which the rate changes after the cloud has
	// throttled a call. The decrease is small, because the cloud's quota has
	// usually filled up again at the end of the pause.
	decreaseFactor = 0.7
	// increasePerSecond is how much the rate grows in each second, as a fraction of the
	// rate right after the last decrease. The rate grows more slowly if fewer calls
	// succeed than it allows.
	increasePerSecond = 0.05
	// minRate is the lowest rate, in calls a second.
	minRate = 0.2
	// unlimitedAfter is the time between the last throttled call and the end of
	// the limit.
	unlimitedAfter = 10 * time.Minute
	// If a timer fires late, the next calls begin faster than the rate to make up
	// for the delay. They make up for at most maxCatchUp.
	maxCatchUp = 100 * time.Millisecond
	// defaultPause is the pause if the cloud does not ask for one. maxPause bounds
	// a pause that the cloud asks for.
	defaultPause = time.Second
	maxPause     = 5 * time.Minute
	// maxOwnPause bounds the limiter's own pause. That pause grows while the cloud
	// refuses calls and no call succeeds.
	maxOwnPause = time.Minute
	// coldCalls is the number of calls that can run at the same time while the
	// cloud might be down. It might be down if the last success is older than
	// coldAfter. If no call is under way, the shorter restAfter applies. Each
	// success allows one more call. If all these calls hang, one more call can
	// begin after each period coldEvery.
	coldCalls = 3
	restAfter = time.Second
	coldAfter = 10 * time.Second
	coldEvery = 4 * time.Second
	// Once calls succeed, firstCalls calls can run at the same time. This number grows
	// while at least firstCalls/2 calls run. If calls usually take longCall or longer,
	// it grows by moreCallsPerSecond in a second. If calls are shorter, it grows more
	// slowly, because short calls add up to many calls a second. Because the number
	// grows only slowly, the cloud refuses few calls before the limiter knows the
	// quota, even if the cloud allows a burst first.
	firstCalls         = 10
	moreCallsPerSecond = 32
	longCall           = 0.2 // seconds
	// While the cloud refuses calls, a single call tests whether it still does. If this
	// call has not returned after probeEvery, another one can begin.
	probeEvery = 10 * time.Second
	// When the first call is throttled, the quota is estimated from the rate of
	// recent calls. If this process has made few calls, their rate says little
	// about the quota. So the estimate is at least minInitialRate calls a second.
	minInitialRate = 20
	// minIncrease, in calls a second, is the lower bound of limiter.increase.
	minIncrease = 0.1
)

// limiter decides when each call may begin. It always bounds how many calls run at the
// same time. Without a Ceiling, the rate is unlimited at first. It becomes limited when
// the cloud throttles a call, or when many calls fail with errors that cannot be
// classified. From then on the rate adapts to the cloud's quota: additive increase,
// multiplicative decrease, and no call before the time that the cloud has named.
type limiter struct {
	mu            sync.Mutex
	rate          float64   // calls a second, 0 = no limit; guarded by mu
	increase      float64   // the growth of the rate in a second if calls succeed at the full rate; guarded by mu
	next          time.Time // when the next call may start; guarded by mu
	lastDecrease  time.Time // guarded by mu
	lastThrottled time.Time // guarded by mu
	refusals      int       // the number of decreases since the last success; guarded by mu
	recent        window    // calls that succeeded; guarded by mu
	usual         float64   // the usual duration of successful calls, in seconds; guarded by mu

	turns turns       // calls that wait; guarded by mu
	timer *time.Timer // fires when the next of these calls can start; guarded by mu
	// The field underWay is the number of calls that have begun and not returned.
	// The field lasting is the number of those that take long. The field width is
	// the number of other calls that can be under way, and is at most firstCalls.
	// The field begun is the time at which the last call began, and success is the
	// time of the last success. From the time grown on, the number of other calls
	// can grow beyond firstCalls. All these fields are guarded by mu.
	underWay, lasting, width int
	begun, success, grown    time.Time
	// While one call tests whether the cloud still refuses calls, no other call
	// begins before the time probed; guarded by mu.
	probed time.Time

	ceiling   ceiling   // guarded by mu
	suspicion suspicion // guarded by mu
	// before is the rate at the beginning of the suspicion, 0 = no limit; guarded
	// by mu.
	before float64
}

// wait returns nil when the call may start, and an error if ctx ends first. If wait has
// returned nil, the caller must report the end of the call with the method ended.
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

// ended records the end of a call for which wait has returned nil.
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

// delay returns the time that the next call has to wait. It also records whether the
// call waits for the quota or for the ceiling. The caller holds mu.
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

// delayOfOneMore returns the time that one more call has to wait because of the
// number of calls under way. The caller holds mu.
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

// lasts records that a call under way takes long. From then on that call does not count
// against width.
func (l *limiter) lasts() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lasting++
	l.serve()
}

// lastedUntilNow records the end of a call for which lasts was called.
func (l *limiter) lastedUntilNow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lasting--
}

// hangsAfter returns the time after which a question counts as hanging.
func (l *limiter) hangsAfter() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(hangsAfter, time.Duration(4*l.usual*float64(time.Second)))
}

// told records how the end of a call has affected the breaker. If the breaker has
// opened, the cloud or a part of it is down, and the quota is not the cause of the
// failures. So a rate that was lowered only on suspicion is restored.
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

// pause returns the time by which the quota delays the next call; 0 if the call can
// start now.
func (l *limiter) pause() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(time.Until(l.next), 0)
}

// succeeded records a call that the cloud has answered within its quota. The parameters
// are the duration of the call and the name of its object.
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

// throttled records that the cloud has throttled a call. The call began at
// started. pause is the pause that the cloud asks for.
func (l *limiter) throttled(started time.Time, pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.suspicion.end() // The cloud itself says that the quota is used up.
	l.decrease(started, pause)
}

// saysThrottled records that a call has failed with an error that mentions a
// used-up quota. It is unknown whether the words are the cloud's or a user's.
func (l *limiter) saysThrottled(started time.Time, pause time.Duration, object string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.suspicion.said(outcome{object: object, started: started, ended: now, failed: true}, l.rate > 0) {
		l.decrease(started, pause)
	}
}

// failed records that a call has failed with an error that cannot be classified. If
// that changes the rate, failed returns the reason.
func (l *limiter) failed(started time.Time, object string) (why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.apply(l.suspicion.observe(outcome{object: object, started: started, ended: time.Now(), failed: true}), started)
}

// mayBeThrottled reports whether a used-up quota is the probable cause of
// unclassified failures for this object.
func (l *limiter) mayBeThrottled(object string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.suspicion.covers(object)
}

// retriesInside reports whether the provider has probably retried a call itself.
// That is so if a refused call took unusually long.
func (l *limiter) retriesInside(took time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return took >= minOwnRetries && took.Seconds() > 3*l.usual
}

// apply changes the rate according to the verdict. The caller holds mu.
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

// decrease lowers the rate and begins a pause. If calls that run at the same time
// are refused together, they decrease the rate only once. While no call succeeds,
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

// unavailable records that the cloud is unavailable. pause is the pause that the
// cloud asks for.
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

// callsPerSecond returns the rate for a metric; 0 = no limit.
func (l *limiter) callsPerSecond() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rate
}
