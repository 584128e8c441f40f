package service

import "time"

const (
	// minQuiet and maxQuiet bound how long the Nodes have to stay unchanged before a
	// new set is made. maxPause bounds the wait for it. There is a wait because Nodes
	// join in large numbers, and each set costs a call for each load balancer.
	minQuiet = time.Second
	maxQuiet = 4 * time.Second
	maxPause = 5 * time.Second
)

// pause is how long a changed Node waits for others. The zero value means that no
// set was made lately.
type pause struct {
	made  time.Time     // when the last new set was made
	quiet time.Duration // how long the Nodes had to stay unchanged before it was made
}

// next returns how long the Nodes have to stay unchanged before the next set is made, if
// a Node changes now. A Node that changes alone does not wait. Nodes that change soon
// after it wait for one another, and wait longer while more of them change.
func (p pause) next(now time.Time) time.Duration {
	if now.Sub(p.made) >= maxPause {
		return 0
	}
	return min(max(2*p.quiet, minQuiet), maxQuiet)
}

// left returns the time until the next set is made. first and last are the times of the
// first and of the newest change of a Node since the previous set. Whatever changes in
// the meantime, the set waits for maxPause at most.
func left(quiet time.Duration, first, last, now time.Time) time.Duration {
	return min(last.Add(quiet).Sub(now), first.Add(maxPause).Sub(now))
}
