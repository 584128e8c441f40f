package cloud

import (
	"math"
	"time"

	xrate "golang.org/x/time/rate"
)

// ceiling keeps calls within the bounds of Config.Ceiling. It is guarded by the mutex of
// the limiter.
type ceiling struct {
	Ceiling

	rate     *xrate.Limiter // nil: no bound
	underWay int
}

func newCeiling(c Ceiling) ceiling {
	made := ceiling{Ceiling: c}
	if c.PerSecond > 0 {
		burst := c.Burst
		if burst == 0 {
			burst = int(math.Max(c.PerSecond, 1))
		}
		made.rate = xrate.NewLimiter(xrate.Limit(c.PerSecond), burst)
	}
	return made
}

// untilOneEnds is the delay of a call that has to wait until another call ends. Whenever
// a call ends, the delay is computed again.
const untilOneEnds = anHour

// delay returns the time that the next call has to wait.
func (c *ceiling) delay(now time.Time) time.Duration {
	if c.Concurrency > 0 && c.underWay >= c.Concurrency {
		return untilOneEnds
	}
	if c.rate == nil {
		return 0
	}
	next := c.rate.ReserveN(now, 1)
	defer next.CancelAt(now)
	return next.DelayFrom(now)
}

// begin records that a call begins.
func (c *ceiling) begin(now time.Time) {
	if c.underWay++; c.rate != nil {
		c.rate.AllowN(now, 1)
	}
}
