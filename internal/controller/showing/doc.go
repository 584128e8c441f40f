// Package showing says when an object shows why it waits: in an event at once, in a
// condition after a minute, and how often what others change is written again. These
// rules are the same for all controllers (promises V1 and S4 b).
//
// It is pure: rules and decisions may import it.
package showing

import "time"

const (
	// After is the time for which an object waits before a condition shows the cause of
	// the wait. Most waits are shorter and need no write.
	After = time.Minute
	// PutBackAfter is the shortest time between two writes of the same thing, if somebody
	// else has changed or removed it in between (promise S4 b). Somebody else might be a
	// kubelet, or another daemon that says otherwise.
	PutBackAfter = 5 * time.Minute
	// RepeatAfter is the time without any event after which a reason is reported again.
	// The API server forgets events after an hour.
	RepeatAfter = 30 * time.Minute
)

// Pause returns the pause after a number of vain attempts: the first pause, doubled for
// each further attempt, and at most the longest.
func Pause(attempts int, first, longest time.Duration) time.Duration {
	pause := first
	for n := 1; n < attempts && pause < longest; n++ {
		pause *= 2
	}
	return min(pause, longest)
}
