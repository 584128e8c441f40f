package loop

import "time"

// backoff is the rule for how long a key waits after passes that have failed.
type backoff struct {
	min, max time.Duration
}

// delay returns how long to wait after so many failures in a row, the last one
// included. It doubles from min to max. Up to a quarter of it, given by spread in
// [0, 1), is added, so that keys which failed together are not retried together.
func (b backoff) delay(failures int, spread float64) time.Duration {
	d := b.max
	if doublings := max(failures-1, 0); doublings < 32 {
		d = min(b.min<<doublings, b.max)
	}
	return d + time.Duration(spread*float64(d)/4)
}
