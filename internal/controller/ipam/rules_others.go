package ipam

import (
	"time"
)

const (
	// shortWait is how long one Node must have gone without CIDRs before this daemon
	// gives any. The same holds after a single sighting. Another allocator, such as
	// kube-controller-manager, gives one within a second.
	shortWait = 10 * time.Second
	// longWait is how long a Node has to wait when another allocator was seen at work.
	// It is also for how long a sighting counts, and for how long other Nodes wait for
	// a Node that cannot be fenced.
	longWait = 10 * time.Minute
	// minSightings is how many Nodes must have got CIDRs from elsewhere before
	// another allocator counts as at work. One Node proves nothing, because a
	// kubelet can set the CIDRs of its own Node.
	minSightings = 2
)

// sighting is a Node with CIDRs that this daemon has not given.
type sighting struct {
	node    string
	cidrs   []string
	manager string // who has written the CIDRs, by managedFields; empty if unknown
	at      time.Time
}

// others is what is known of other allocators of CIDRs.
type others struct {
	sightings []sighting // within longWait of the last one, one for each Node
	// proven is the last time when a Node had waited long enough to prove that there
	// is no other allocator; zero: never.
	proven time.Time
}

// saw returns what is known after one more sighting.
func (x others) saw(s sighting) others {
	var recent []sighting
	for _, old := range x.sightings {
		if old.node != s.node && s.at.Sub(old.at) < longWait {
			recent = append(recent, old)
		}
	}
	x.sightings = append(recent, s)
	return x
}

// last returns the last sighting, nil if there is none.
func (x others) last() *sighting {
	if len(x.sightings) == 0 {
		return nil
	}
	return &x.sightings[len(x.sightings)-1]
}

// atWork reports whether another allocator is at work: several Nodes have got CIDRs
// from it, and no Node has proved since then that this allocator has stopped.
func (x others) atWork() bool { return len(x.sightings) >= minSightings && !x.isProven() }

// isProven reports whether, since the last sighting, a Node has waited long enough
// without getting CIDRs from another allocator.
func (x others) isProven() bool {
	last := x.last()
	return !x.proven.IsZero() && (last == nil || x.proven.After(last.at))
}

// remaining returns how much longer a Node has to wait until it proves that there is
// no other allocator. since is when its wait began.
func (x others) remaining(now, since time.Time) time.Duration {
	need := shortWait
	if x.atWork() {
		need = longWait
	}
	if last := x.last(); last != nil && last.at.After(since) {
		since = last.at
	}
	return need - now.Sub(since)
}
