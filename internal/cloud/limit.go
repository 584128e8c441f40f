package cloud

import (
	"fmt"
	"strings"
	"time"
)

// LimitedBy names what calls to the cloud wait for. The set of values is closed.
type LimitedBy string

// What calls wait for.
const (
	Unlimited     LimitedBy = ""
	QuotaLimits   LimitedBy = "quota"
	CeilingLimits LimitedBy = "ceiling"
	// ShareLimits means that only comparisons wait, because they have used their share
	// of the quota.
	ShareLimits LimitedBy = "share"
)

// Limit says what calls to the cloud wait for. The zero value means that they do not
// wait.
type Limit struct {
	By LimitedBy
	// Calls names the class of the calls, such as "load balancers".
	Calls string
	// Waiting is the number of calls that wait now, and Until is the earliest time at
	// which the next one of them can begin; zero if none waits, or if that is unknown.
	Waiting int
	Until   time.Time
	// For is the time since calls began to wait. It includes pauses of at most a minute
	// between the waits.
	For time.Duration
	// PerSecond is an estimate of the rate that the quota allows; 0 if it is unknown.
	PerSecond float64
}

func (l Limit) String() string {
	lasts := l.For.Truncate(time.Second)
	var said string
	switch l.By {
	case QuotaLimits:
		said = fmt.Sprintf("calls (%s) have waited for the request quota of the cloud for %v", l.Calls, lasts)
		if l.PerSecond > 0 {
			said += fmt.Sprintf(", which seems to be %.2g calls a second", l.PerSecond)
		}
	case CeilingLimits:
		said = fmt.Sprintf("calls (%s) have waited for the bounds in --cloud-api-qps and --cloud-api-concurrency for %v", l.Calls, lasts)
	case ShareLimits:
		return fmt.Sprintf("comparisons of all nodes take longer than their period: nobody waits for them, so they make at most %.2g calls a second, a part of the request quota", l.PerSecond)
	case Unlimited:
		return ""
	}
	if l.Waiting > 0 {
		said += fmt.Sprintf("; %d wait now", l.Waiting)
		if !l.Until.IsZero() {
			said += ", the next until " + l.Until.UTC().Format(time.TimeOnly)
		}
	}
	return said
}

// waits records what calls wait for, and for how long. The zero value is ready to use.
type waits struct {
	by          LimitedBy
	since, last time.Time // when calls began to wait, and when one last waited
}

// add records that a call waits.
func (w *waits) add(by LimitedBy, now time.Time) {
	if now.Sub(w.last) > lately {
		w.since = now
	}
	w.by, w.last = by, now
}

// limit returns what calls wait for now. They count as limited once the time between the
// first and the last wait is 10 seconds, until no call has waited for a minute.
func (w *waits) limit(now time.Time) Limit {
	if w.by == Unlimited || now.Sub(w.last) > lately || w.last.Sub(w.since) < recently {
		return Limit{}
	}
	return Limit{By: w.by, For: now.Sub(w.since)}
}

// Limit returns what calls to the cloud wait for now. If calls of several classes wait,
// it is about those that have waited for longest.
func (g *Gateway) Limit() Limit {
	var longest Limit
	for _, limit := range g.limiter.limits() {
		if longest.By == Unlimited || longest.By == ShareLimits || limit.By != ShareLimits && limit.For > longest.For {
			longest = limit
		}
	}
	return longest
}

// limits returns what the calls of each class wait for, and what comparisons wait for.
func (l *limiter) limits() (all []Limit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for _, c := range l.classes {
		if found := l.limitOf(c, now); found.By != Unlimited {
			all = append(all, found)
		}
	}
	if found := l.share.waits.limit(now); found.By != Unlimited {
		found.PerSecond = l.share.perSecond
		all = append(all, found)
	}
	return all
}

// limitOf returns what the calls of a class wait for. A wait counts as long as it lasts.
// The caller holds mu.
func (l *limiter) limitOf(c *class, now time.Time) Limit {
	var delay time.Duration
	switch {
	case c.hold.isOpen() && c.hold.kind == Throttled && now.Sub(c.used) < lately:
		delay = l.probes.delay(&c.hold, now)
		if c.waits.add(QuotaLimits, now); c.hold.opened.Before(c.waits.since) {
			c.waits.since = c.hold.opened
		}
	case c.turns.count(refreshPriority) > 0 && !c.hold.isOpen():
		delay = l.delay(c, now)
	}
	found := c.waits.limit(now)
	found.Calls, found.Waiting = c.key.String(), c.turns.count(refreshPriority)
	if delay > 0 && delay < untilOneEnds {
		found.Until = now.Add(delay)
	}
	if found.By == QuotaLimits {
		found.PerSecond = c.rate.known(now)
	}
	return found
}

// held describes the classes whose calls are held back, in words.
func (l *limiter) held() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	var all []string
	for _, c := range l.classes {
		if c.hold.isOpen() && now.Sub(c.used) <= anHour {
			all = append(all, fmt.Sprintf("does not answer calls (%s, %s for %v), which are made one at a time", c.key, c.hold.kind, now.Sub(c.hold.opened).Truncate(time.Second)))
		}
	}
	return strings.Join(all, ", ")
}

// rateOf returns the kind of the call's class, and the rate to which its calls are limited;
// 0: no limit.
func (l *limiter) rateOf(c call) (kind string, perSecond float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.classOf(c, time.Now())
	return of.key.kind, of.rate.perSecond
}

// pauseOf returns the time by which the quota delays the next call of the class.
func (l *limiter) pauseOf(c call) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	of := l.classOf(c, now)
	return max(of.rate.next.Sub(now), 0)
}

// paused returns the error of an object that is left out of a call about many because calls
// for its tenant wait. Unlike a call of its own, it takes no turn.
func (l *limiter) paused(c call) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if of := l.classOf(c, now); of.rate.perSecond == 0 {
		if wait := of.failures.wait(c.object(), now); wait > 0 {
			return pausedFor(c, wait)
		}
	}
	return nil
}

// answeredFor records that a call about many objects has answered about this one, too. How
// long the call took is recorded once, for all of them.
func (l *limiter) answeredFor(c call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.classOf(c, now).failures.answer(c.object(), now)
}
