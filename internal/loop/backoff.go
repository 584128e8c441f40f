package loop

import "time"

// backoff is the rule for how long a key waits after the passes that failed.
type backoff struct {
	first, longest time.Duration
}

// delay after so many failures in a row, the last one included. It doubles
// from the first delay to the longest. A part of it, given by spread in
// [0, 1), is added on top, so that keys which failed together do not come
// back together; more than the longest and a quarter is never waited.
func (b backoff) delay(failures int, spread float64) time.Duration {
	d := b.longest
	if doublings := max(failures-1, 0); doublings < 32 {
		d = min(b.first<<doublings, b.longest)
	}
	return d + time.Duration(spread*float64(d)/4)
}
