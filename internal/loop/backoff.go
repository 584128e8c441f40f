package loop

import "time"

// backoff computes how long a key waits after failed passes.
type backoff struct {
	min, max time.Duration
}

// delay returns how long to wait after a number of failures in a row. The delay
// doubles from min to max. spread, in [0, 1), adds up to a quarter of it, so that
// keys that have failed together are not retried together.
func (b backoff) delay(failures int, spread float64) time.Duration {
	d := b.max
	if doublings := max(failures-1, 0); doublings < 32 {
		d = min(b.min<<doublings, b.max)
	}
	return d + time.Duration(spread*float64(d)/4)
}
