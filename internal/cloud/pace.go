package cloud

import (
	"context"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// urgency says who waits for a call.
type urgency int

const (
	background urgency = iota // a refresh; nobody waits
	foreground                // somebody waits for the object
)

const (
	// slowDown is what is left of the pace after the cloud has said "too
	// many". A bucket of the cloud usually has filled up again when we come
	// back, so a gentle factor settles just above the quota's rate sooner.
	slowDown = 0.7
	// speedUp is by what part of the pace at the last such answer it grows in
	// each second without another.
	speedUp = 0.05
	// slowest is the pace that is never gone below, in calls a second.
	slowest = 0.2
	// forget is after how long without such an answer the pace is free again.
	forget = 10 * time.Minute
	// catchUp is how much of the pace may be made up for when timers fire late.
	catchUp = 100 * time.Millisecond
	// yield is how often a background call looks whether the foreground is done.
	yield = 100 * time.Millisecond
	// defaultPause is the pause where the cloud does not say how long, and
	// longestPause bounds what it says.
	defaultPause = time.Second
	longestPause = 5 * time.Minute
	// assumed is the least pace that the first refusal is taken to have been
	// at, in calls a second: our own traffic says little of the quota while it
	// is low. slowestStep is the least growth, in calls a second each second.
	assumed     = 20
	slowestStep = 0.1
)

// pace is the one budget of calls that all controllers share. It is free until
// the cloud says that its quota is used up; from then on it follows the quota:
// additive increase, multiplicative decrease, and never a call before the time
// that the cloud has named.
type pace struct {
	clock clock.PassiveClock

	mu        sync.Mutex
	rate      float64   // calls a second, 0 = free; guarded by mu
	step      float64   // by how much the rate grows in a second; guarded by mu
	next      time.Time // when the next call may start; guarded by mu
	slowed    time.Time // when the rate was last decreased; guarded by mu
	throttles time.Time // when the cloud last said "too many"; guarded by mu
	waiting   int       // foreground calls that wait; guarded by mu
	recent    window    // calls that succeeded; guarded by mu
}

// wait returns when the call may start.
func (p *pace) wait(ctx context.Context, who urgency) error {
	if who == foreground {
		p.count(1)
		defer p.count(-1)
	}
	for {
		delay := p.reserve(who)
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

// reserve returns how long to wait before asking again, 0 where the call may
// start now.
func (p *pace) reserve(who urgency) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	if delay := p.next.Sub(now); delay > 0 {
		return delay
	}
	if p.rate == 0 {
		return 0
	}
	if who == background && p.waiting > 0 {
		return yield
	}
	if earliest := now.Add(-catchUp); p.next.Before(earliest) {
		p.next = earliest
	}
	p.next = p.next.Add(time.Duration(float64(time.Second) / p.rate))
	return 0
}

// pause is how long no call may start, 0 where the next one may.
func (p *pace) pause() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.next.Sub(p.clock.Now()), 0)
}

func (p *pace) count(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting += n
}

// succeeded counts a call that the cloud has answered within its quota.
func (p *pace) succeeded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	p.recent.add(now)
	switch {
	case p.rate == 0:
	case now.Sub(p.throttles) > forget:
		p.rate = 0
	default:
		p.rate += p.step / p.rate
	}
}

// throttled takes note that the cloud has refused a call that was started then
// and wants to be left alone for the pause. Calls that were under way together
// are refused together: they slow the pace down once.
func (p *pace) throttled(started time.Time, pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	p.throttles = now
	if pause <= 0 {
		pause = defaultPause
	}
	p.rest(now, pause)
	if !started.After(p.slowed) {
		return
	}
	p.slowed = now
	if p.rate == 0 {
		p.rate = max(p.recent.rate(now), assumed)
	}
	p.rate = max(p.rate*slowDown, slowest)
	p.step = max(p.rate*speedUp, slowestStep)
}

// unavailable takes note that the cloud is broken and has said for how long it
// wants to be left alone.
func (p *pace) unavailable(pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest(p.clock.Now(), pause)
}

// rest lets no call start before the pause is over. It needs mu.
func (p *pace) rest(now time.Time, pause time.Duration) {
	if until := now.Add(min(pause, longestPause)); until.After(p.next) {
		p.next = until
	}
}

// callsPerSecond is the pace for a metric: 0 = free.
func (p *pace) callsPerSecond() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rate
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

// rate is the larger of the two counts: a second that has just begun says
// little.
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
