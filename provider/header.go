package provider

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// maxRetryAfter is the longest time that retryAfter returns. A larger number
// could overflow.
const maxRetryAfter = 24 * time.Hour

// retryAfter returns the time that the cloud asks to wait, or 0 if it names none.
// Some clouds send in each answer a header that says when the quota of requests is
// reset. retryAfter uses this header only if the quota is used up and nothing else
// names a time to wait.
func (c *clues) retryAfter(kind ErrorKind, now time.Time) time.Duration {
	var asked, reset time.Duration
	for _, pause := range c.pauses {
		asked = max(asked, min(pause, maxRetryAfter))
	}
	for _, h := range c.headers {
		base := now
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			base = date // The cloud's clock may differ from ours.
		}
		for _, name := range []string{"Retry-After", "X-Retry-After"} {
			asked = max(asked, until(h.Get(name), base, time.Second))
		}
		for _, name := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
			asked = max(asked, until(h.Get(name), base, time.Millisecond))
		}
		for _, name := range []string{"RateLimit-Reset", "X-RateLimit-Reset", "X-Rate-Limit-Reset", "X-RateLimit-Reset-After"} {
			reset = max(reset, until(h.Get(name), base, time.Second))
		}
	}
	if asked == 0 && kind == Throttled {
		return reset
	}
	return asked
}

// until converts a header's value into the time to wait. The value is a number
// of units, a date, or the time since 1970 in seconds or milliseconds.
func until(value string, now time.Time, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil:
		date, err := http.ParseTime(value)
		if err != nil {
			date, err = time.Parse(time.RFC3339, value)
		}
		if err != nil {
			return 0
		}
		return within(date.Sub(now))
	case math.IsNaN(n), n <= 0:
		return 0
	case n >= 1e15:
		return maxRetryAfter
	case n >= 1e11:
		return within(time.UnixMilli(int64(n)).Sub(now))
	case n >= 1e9:
		return within(time.Unix(int64(n), 0).Sub(now))
	default:
		return within(time.Duration(min(n*float64(unit), float64(maxRetryAfter))))
	}
}

func within(d time.Duration) time.Duration { return min(max(d, 0), maxRetryAfter) }
