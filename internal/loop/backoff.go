package loop

import "time"

// backoff computes the delay of a key after failed passes.
type backoff struct {
	min, max time.Duration
}

// delay returns the time to wait after a number of failures in a row. It doubles with
// each failure, from min to max. A spread between 0 and 1 makes it longer by up to a
// quarter, so that keys that have failed together are not retried together.
func (b backoff) delay(failures int, spread float64) time.Duration {
	d := b.max
	if doublings := max(failures-1, 0); doublings < 32 {
		d = min(b.min<<doublings, b.max)
	}
	return d + time.Duration(spread*float64(d)/4)
}
