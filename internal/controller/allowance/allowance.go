// Package allowance limits the rate at which something is done for one object.
// Without a limit, anybody who may edit an object could make the daemon call the
// cloud without end. That would use up the request quota that all objects share.
package allowance

import "time"

// Limit is the number of times that something may be done for one object. It may be done
// Burst times at first, and then once in each period. The length of a period is Every. So
// there are at most Burst + t/Every uses in any time t. Least is the shortest time between two uses.
type Limit struct {
	Burst        int
	Every, Least time.Duration
}

// Allowance records how much of a limit is used up. The zero value means that nothing
// is used.
type Allowance struct {
	last time.Time // the time of the last use
	full time.Time // the time when the whole limit is available again
}

// Next returns the earliest time at which the allowance may be used again. The zero
// time means that it may be used at once.
func (a Allowance) Next(l Limit) time.Time {
	if a.last.IsZero() {
		return time.Time{}
	}
	next, least := a.full.Add(-time.Duration(l.Burst-1)*l.Every), a.last.Add(l.Least)
	if next.Before(least) {
		return least
	}
	return next
}

// IsWhole reports whether the whole limit is available.
func (a Allowance) IsWhole(now time.Time) bool { return !a.full.After(now) }

// Returned returns the allowance after one use was given back. A use is given back if
// nothing was done with it.
func (a Allowance) Returned(l Limit) Allowance {
	a.full = a.full.Add(-l.Every)
	return a
}

// Used returns the allowance after it was used once more.
func (a Allowance) Used(l Limit, now time.Time) Allowance {
	if a.full.Before(now) {
		a.full = now
	}
	return Allowance{last: now, full: a.full.Add(l.Every)}
}
