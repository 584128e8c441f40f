package route

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	firstRetry   = time.Second
	longestRetry = time.Minute
	// longestBlackhole is how long is waited between two attempts to heal a
	// route that the cloud makes a blackhole of again: the instance is stopped.
	longestBlackhole = 5 * time.Minute
	// settled is how long our own changes are believed more than a listing:
	// clouds list late what they have done.
	settled = 30 * time.Second
	// rememberDeparture is how long at least a deleted Node is remembered. Its
	// route may be listed late.
	rememberDeparture = 10 * time.Minute
)

// reasonBlackhole is the reason of a route that is created, and of no use.
const reasonBlackhole = "Blackhole"

// failure is why something has not been done, and when it is tried again. Its
// zero value is none.
type failure struct {
	count     int
	since, at time.Time // the first and the last
	until     time.Time
	took      time.Duration
	reason    string        // from a closed set
	text      string        // the cloud's own words
	node      types.UID     // whose route was to be created; empty: nobody's
	pause     time.Duration // that the cloud has asked for
}

// next is the failure after another one.
func (f failure) next(now time.Time, latest failure) failure {
	if f.count > 0 && f.node == latest.node {
		latest.since, latest.count = f.since, f.count
	} else {
		latest.since = now
	}
	pause := latest.pause
	if pause <= 0 {
		longest := longestRetry
		if latest.doubtful() {
			longest = longestBlackhole
		}
		pause = longest
		if latest.count < 16 {
			pause = min(firstRetry<<latest.count, longest)
		}
	}
	latest.count++
	latest.at, latest.until = now, now.Add(pause)
	return latest
}

// isOf tells whether the failure says anything about the route of this Node.
func (f failure) isOf(owner *corev1.Node) bool {
	return owner == nil && f.node == "" || owner != nil && f.node == owner.UID
}

func (f failure) doubtful() bool { return f.reason == reasonBlackhole }

// lookFirst says why the cloud has to be asked before anything is decided, and
// nothing if it has not.
func lookFirst(o observed) string {
	switch {
	case o.isBlind() && o.now.Before(o.memory.blind.until):
		return ""
	case o.isBlind():
		return "the last listing has failed"
	case o.listing.at.IsZero():
		return "the routes are not known yet"
	case !o.now.Before(o.due):
		return "the regular check"
	}
	for _, d := range o.memory.departed {
		// What was created since the listing is not in it.
		if o.listing.at.Before(d.at) && !d.at.After(o.changed) {
			return "a Node was deleted since the routes were listed"
		}
	}
	for _, since := range o.memory.suspects {
		for _, after := range []time.Duration{o.limits.StrayFor, o.limits.OverBudgetAfter} {
			if ripe := since.Add(after); o.listing.at.Before(ripe) && !o.now.Before(ripe) {
				return "stray routes are looked at again"
			}
		}
	}
	return ""
}

// isBlind tells whether the cloud has not said what routes there are, when it
// was asked last.
func (o *observed) isBlind() bool { return o.memory.blind.count > 0 }

// untilLook is how long it is until the cloud is asked anyway.
func untilLook(o observed) time.Duration {
	if o.isBlind() {
		return o.memory.blind.until.Sub(o.now)
	}
	return o.due.Sub(o.now)
}

// isMade tells whether this process has created the route so recently that a
// listing without it says nothing.
func (o *observed) isMade(c claim) bool {
	at, ok := o.memory.made[c]
	return ok && o.listing.at.Before(at.Add(settled))
}

// isGone tells the same of a removal.
func (o *observed) isGone(id identity) bool {
	at, ok := o.memory.gone[id]
	return ok && o.listing.at.Before(at.Add(settled))
}

// missingReason is why a wanted route is not there, from a closed set.
func (s *survey) missingReason(cidr netip.Prefix, e *entry) string {
	failure, failed := s.memory.failures[cidr]
	switch {
	case isExcluded(e.owner):
		return "Excluded"
	case failed && failure.isOf(e.owner):
		return failure.reason
	case s.isBlind():
		return s.memory.blind.reason
	case e.blackhole:
		return reasonBlackhole
	default:
		return "InProgress"
	}
}
