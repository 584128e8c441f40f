package cloud

import (
	"context"
	"sync"
	"time"
)

const (
	// decreaseFactor is the part of the rate that is left after the cloud has
	// throttled a call. The cloud's quota has usually filled up again when the
	// pause is over, so with a small decrease the rate comes close to the quota
	// sooner.
	decreaseFactor = 0.7
	// increasePerSecond is how much the rate grows in each second without
	// another decrease, as a part of the rate at the last decrease.
	increasePerSecond = 0.05
	// minRate is the lowest rate, in calls a second.
	minRate = 0.2
	// unlimitedAfter is how long after the last throttled call the limit ends.
	unlimitedAfter = 10 * time.Minute
	// maxCatchUp bounds the time that calls may make up for after timers have
	// fired late.
	maxCatchUp = 100 * time.Millisecond
	// yieldDelay is how often a call with low priority checks whether calls with
	// high priority still wait.
	yieldDelay = 100 * time.Millisecond
	// defaultPause is the pause if the cloud does not say how long it should
	// be. maxPause bounds what the cloud says.
	defaultPause = time.Second
	maxPause     = 5 * time.Minute
	// minInitialRate, in calls a second, is the lowest rate that is assumed
	// when the first call is throttled. While this process makes few calls,
	// their rate says little about the quota.
	minInitialRate = 20
	// minIncrease, in calls a second, is the least growth in each second.
	minIncrease = 0.1
)

// limiter is the one rate limit of all calls. There is no limit until the cloud
// throttles a call; from then on the rate follows the cloud's quota: additive
// increase, multiplicative decrease, and no call before the time that the cloud
// has named.
type limiter struct {
	mu            sync.Mutex
	rate          float64   // calls a second, 0 = no limit; guarded by mu
	increase      float64   // by how much the rate grows in a second; guarded by mu
	next          time.Time // when the next call may start; guarded by mu
	lastDecrease  time.Time // guarded by mu
	lastThrottled time.Time // guarded by mu
	waiting       int       // calls with high priority that wait; guarded by mu
	recent        window    // calls that succeeded; guarded by mu
}

// wait returns when the call may start.
func (l *limiter) wait(ctx context.Context, p priority) error {
	if p == highPriority {
		l.count(1)
		defer l.count(-1)
	}
	for {
		delay := l.reserve(p)
		if delay <= 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// reserve returns how long to wait before asking again, 0 if the call may start
// now.
func (l *limiter) reserve(p priority) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if delay := l.next.Sub(now); delay > 0 {
		return delay
	}
	if l.rate == 0 {
		return 0
	}
	if p == lowPriority && l.waiting > 0 {
		return yieldDelay
	}
	if earliest := now.Add(-maxCatchUp); l.next.Before(earliest) {
		l.next = earliest
	}
	l.next = l.next.Add(time.Duration(float64(time.Second) / l.rate))
	return 0
}

// pause returns how long no call may start, 0 if the next one may start now.
func (l *limiter) pause() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(time.Until(l.next), 0)
}

func (l *limiter) count(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting += n
}

// succeeded counts a call that the cloud has answered within its quota.
func (l *limiter) succeeded() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.recent.add(now)
	switch {
	case l.rate == 0:
	case now.Sub(l.lastThrottled) > unlimitedAfter:
		l.rate = 0
	default:
		l.rate += l.increase / l.rate
	}
}

// throttled takes note that the cloud has throttled a call that began at
// started, and that it asks for the pause. Calls that were under way together
// are refused together: they decrease the rate once.
func (l *limiter) throttled(started time.Time, pause time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.lastThrottled = now
	if pause <= 0 {
		pause = defaultPause
	}
	l.startNoneFor(now, pause)
	if !started.After(l.lastDecrease) {
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

// window counts what happened in this second and in the one before.
type window struct {
	start           time.Time
	current, before int
}

func (w *window) add(now time.Time) {
	w.roll(now)
	w.current++
}

// rate is the larger of the two counts, because a second that has just begun
// says little.
func (w *window) rate(now time.Time) float64 {
	w.roll(now)
	return float64(max(w.current, w.before, 1))
}

func (w *window) roll(now time.Time) {
	switch age := now.Sub(w.start); {
	case age < time.Second:
	case age < 2*time.Second:
		*w = window{start: w.start.Add(time.Second), before: w.current}
	default:
		*w = window{start: now}
	}
}
