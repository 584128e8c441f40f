package cloud

import (
	"fmt"
	"math"
	"time"
)

// Ceiling bounds the calls to the cloud, even if the cloud allows more. The zero
// value bounds nothing.
type Ceiling struct {
	// PerSecond is the maximum number of calls a second, in the long run; 0 means
	// no bound.
	PerSecond float64
	// Burst is the number of calls that may begin at once after a rest; 0 means
	// PerSecond, but at least 1.
	Burst int
	// Concurrency is the maximum number of calls under way at the same time; 0
	// means no bound. Calls that wait at the cloud until something happens do not
	// count.
	Concurrency int
}

func (c Ceiling) burst() float64 {
	if c.Burst > 0 {
		return float64(c.Burst)
	}
	return math.Max(c.PerSecond, 1)
}

const (
	// Calls count as limited once the time between the first and the last wait is
	// limitedAfter. The limit is over when no call has had to wait for the time
	// limitOver.
	limitedAfter = 10 * time.Second
	limitOver    = time.Minute
	// untilOneEnds is the delay of a call that has to wait until another call
	// ends. Whenever a call ends, the delay is computed again.
	untilOneEnds = time.Hour
)

// LimitedBy names the bound that calls to the cloud wait for. The set of values
// is closed.
type LimitedBy string

// The bounds.
const (
	Unlimited     LimitedBy = ""
	QuotaLimits   LimitedBy = "quota"
	CeilingLimits LimitedBy = "ceiling"
)

// Limit says what calls to the cloud wait for. The zero value means that they do
// not wait.
type Limit struct {
	By LimitedBy
	// For is the time since calls began to wait. It includes pauses of at most
	// limitOver between the waits.
	For time.Duration
	// PerSecond is an estimate of the rate that the quota allows; 0 if the quota does
	// not limit calls.
	PerSecond float64
}

func (l Limit) String() string {
	lasts := l.For.Truncate(time.Second)
	switch l.By {
	case QuotaLimits:
		return fmt.Sprintf("calls have waited for the request quota of the cloud for %v, which seems to be %.1f calls a second", lasts, l.PerSecond)
	case CeilingLimits:
		return fmt.Sprintf("calls have waited for the bounds in --cloud-api-qps and --cloud-api-concurrency for %v", lasts)
	case Unlimited:
	}
	return ""
}

// ceiling keeps calls within a Ceiling. It also records how long calls have had
// to wait for the Ceiling or for the quota. It is guarded by the mutex of the
// limiter.
type ceiling struct {
	Ceiling

	tokens float64 // the number of calls that may begin now
	filled time.Time

	by          LimitedBy
	since, last time.Time // when calls began to wait, and when one last waited
}

// delay returns the time that the next call has to wait while the given number of calls
// is under way.
func (c *ceiling) delay(now time.Time, underWay int) time.Duration {
	if c.Concurrency > 0 && underWay >= c.Concurrency {
		return untilOneEnds
	}
	if c.PerSecond <= 0 {
		return 0
	}
	if c.filled.IsZero() {
		c.tokens = c.burst()
	}
	c.tokens = min(c.tokens+now.Sub(c.filled).Seconds()*c.PerSecond, c.burst())
	c.filled = now
	if c.tokens >= 1 {
		return 0
	}
	return max(time.Duration((1-c.tokens)/c.PerSecond*float64(time.Second)), time.Nanosecond)
}

// spend records that a call begins.
func (c *ceiling) spend() { c.tokens-- }

// waits records that a call waits for the quota or for the ceiling.
func (c *ceiling) waits(by LimitedBy, now time.Time) {
	if now.Sub(c.last) > limitOver {
		c.since = now
	}
	c.by, c.last = by, now
}

// limit returns the bound that limits calls now.
func (c *ceiling) limit(now time.Time) Limit {
	if c.by == Unlimited || now.Sub(c.last) > limitOver || c.last.Sub(c.since) < limitedAfter {
		return Limit{}
	}
	return Limit{By: c.by, For: now.Sub(c.since)}
}

// Limit returns the bound that limits calls to the cloud now.
func (g *Gateway) Limit() Limit {
	l := &g.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.ceiling.limit(time.Now())
	if found.By == QuotaLimits {
		found.PerSecond = l.rate
	}
	return found
}
