package cloud

import (
	"math"
	"time"
)

// rate is the rate at which the calls of a class begin after the cloud has refused some
// of them. The zero value limits nothing.
//
// The quota is measured: between two moments at which it was used up, the cloud has
// answered as many calls as the quota allows in this time, whatever its burst is, if no
// pause between them was long enough to fill the burst. The rate begins a little below that number and grows slowly until the quota is used up
// again. Each time, the measurement becomes more exact. While nothing is measured, the
// rate doubles in each second.
type rate struct {
	perSecond    float64       // calls a second; 0: not limited
	next, paused time.Time     // when the next call may begin by this rate, and until when none may
	lag          time.Duration // the time for which calls make up that did not begin in time
	waited       time.Time     // when a call last had to wait

	refused time.Time // when the quota was last found used up
	answers int       // answers since then
	resumed time.Time // when the first of them came after a hold
	grew    time.Time // when the rate last grew

	answered, seconds float64   // what was measured; recent measurements count more
	allowed           float64   // the calls a second that the quota allows, as it was last measured; 0: unknown
	anew              time.Time // when the measurement last began anew

	quota   float64   // what was last measured with enough answers; 0: unknown
	learned time.Time // when that was
}

// usedUp records that the quota is used up. The call that shows it began at began, the
// cloud asks for a pause of after, and recent calls had this rate, as far as it is known.
// usedUp reports whether the cloud has not answered any call since the last time.
func (r *rate) usedUp(began, now time.Time, after time.Duration, recent float64) (still bool) {
	pause := min(after, recently)
	if !began.After(r.refused) { // The call was under way at the last time.
		r.pause(now, pause)
		return false
	}
	elapsed := now.Sub(r.refused).Seconds()
	r.lag = 0
	switch {
	case r.answers == 0 && (r.perSecond > 0 || recent == 0):
		still = true
	case r.perSecond == 0: // The quota had filled up before, so its burst was used, too.
		pause = max(pause, moment)
		r.perSecond = math.Max(recent/8, restart)
		r.measure(now.Add(pause))
	case r.resumed.Sub(r.refused) > 2*firstPause: // It may have filled up before.
		r.perSecond = math.Max(belowQuota*float64(r.answers)/elapsed, minRate)
		r.measure(now)
	default:
		r.answered, r.seconds = r.answered/2+float64(r.answers), r.seconds/2+elapsed
		r.allowed = r.answered / r.seconds
		if r.answered >= usualCalls {
			r.quota, r.learned = r.allowed, now
		}
		r.perSecond, r.lag = math.Max(belowQuota*r.allowed, minRate), pause
	}
	if r.refused, r.answers, r.waited = now, 0, now; r.next.Before(now) {
		r.next = now
	}
	r.pause(now, pause)
	return still
}

// minRate is the rate of calls that are made one at a time.
const minRate = float64(time.Second) / float64(longestPause)

func (r *rate) pause(now time.Time, d time.Duration) {
	if until := now.Add(d); until.After(r.paused) {
		r.paused = until
	}
}

// measure begins the measurement anew.
func (r *rate) measure(now time.Time) {
	r.answered, r.seconds, r.anew, r.grew = 0, 0, now, now
}

// resume records that a hold has ended during which the quota was used up.
func (r *rate) resume(held time.Duration, now time.Time) {
	if held > longestPause {
		r.measure(now)
	}
	r.resumed, r.next, r.paused, r.waited, r.grew = now, now, now, now, now
	if r.perSecond = belowQuota * r.allowed; r.answered == 0 {
		r.perSecond = math.Max(r.perSecond/4, restart)
	}
}

// answer records that the cloud has answered a call within its quota.
func (r *rate) answer(now time.Time) {
	if r.perSecond == 0 {
		return
	}
	r.answers++
	if r.answered == 0 {
		r.perSecond *= math.Exp2(math.Min(math.Max(now.Sub(r.grew).Seconds(), 0), 1))
		r.grew = now
		return
	}
	samples := math.Min(math.Max(r.answered, 1), mostSamples)
	r.perSecond *= 1 + growth/samples*math.Max(1, float64(r.answers)/(4*samples))
}

// delay returns the time that the next call has to wait. The limit ends when no call has
// waited for a while.
func (r *rate) delay(now time.Time) time.Duration {
	if r.perSecond > 0 && now.Sub(r.waited) > lately {
		r.perSecond = 0
	}
	wait := max(r.next.Sub(now), r.paused.Sub(now))
	if wait > 0 {
		r.waited = now
	}
	return wait
}

// begin records that a call begins that costs this many calls of the quota.
func (r *rate) begin(now time.Time, cost int) {
	if r.perSecond == 0 {
		return
	}
	r.lag = max(min(now.Sub(r.next), r.lag), tick)
	if earliest := now.Add(-r.lag); r.next.Before(earliest) {
		r.next = earliest
	}
	r.next = r.next.Add(time.Duration(float64(cost) * float64(time.Second) / r.perSecond))
}

// known returns the calls a second that the quota is known to allow; 0: unknown.
func (r *rate) known(now time.Time) float64 {
	if now.Sub(r.learned) > aDay {
		return 0
	}
	return r.quota
}

// hasRested reports whether calls are limited, but none has waited for a moment.
func (r *rate) hasRested(now time.Time) bool {
	return r.perSecond > 0 && now.Sub(r.waited) > moment
}
