package service

import "time"

const (
	// minQuiet and maxQuiet are bounds of the time for which the Nodes have to stay
	// unchanged before a new set is made. maxPause is the longest wait for a new set.
	// There is a wait because Nodes join in large numbers, and each set costs a call
	// for each load balancer.
	minQuiet = time.Second
	maxQuiet = 4 * time.Second
	maxPause = 5 * time.Second
)

// pause has the facts that decide how long a new set waits for further changes of
// Nodes. The zero value means that no set was made lately.
type pause struct {
	made  time.Time     // when the last new set was made
	quiet time.Duration // the time for which the Nodes had to stay unchanged before that set was made
}

// next is called when a Node changes. It returns the time for which the Nodes then have
// to stay unchanged before the next set is made. If no set was made for some time, the
// set is made at once. Otherwise it is made only after a wait, so that Nodes that
// change together share a set. Each such set doubles the wait before the next one, up
// to maxQuiet.
func (p pause) next(now time.Time) time.Duration {
	if now.Sub(p.made) >= maxPause {
		return 0
	}
	return min(max(2*p.quiet, minQuiet), maxQuiet)
}

// left returns the time until the next set is made. first is the time of the first
// change of a Node since the previous set, and last is the time of the newest change.
// The wait is never longer than maxPause, whatever changes in the meantime.
func left(quiet time.Duration, first, last, now time.Time) time.Duration {
	return min(last.Add(quiet).Sub(now), first.Add(maxPause).Sub(now))
}
