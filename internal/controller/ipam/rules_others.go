package ipam

import (
	"time"
)

const (
	// shortWait is the time for which one Node must have been without CIDRs before this
	// daemon gives any. After a single sighting, a Node has to wait for shortWait
	// again. Another allocator, such as kube-controller-manager, gives a Node its CIDRs
	// within a second.
	shortWait = 10 * time.Second
	// longWait is the time for which a Node has to wait when another allocator was seen
	// at work. Two sightings count together only if less than longWait lies between
	// them. If a Node cannot be fenced, the other Nodes wait for it for longWait.
	longWait = 10 * time.Minute
	// minSightings is the number of Nodes that must have got CIDRs from elsewhere
	// before another allocator counts as being at work. One Node proves nothing,
	// because a kubelet can set the CIDRs of its own Node.
	minSightings = 2
)

// sighting is a Node with CIDRs that this daemon has not given.
type sighting struct {
	node    string
	cidrs   []string
	manager string // the manager that has written the CIDRs, by managedFields; empty if unknown
	at      time.Time
}

// others has the known facts about other allocators of CIDRs.
type others struct {
	sightings []sighting // within longWait of the last one, one for each Node
	// proven is the last time at which a Node had waited long enough to prove that
	// there is no other allocator. It is zero if there was no such proof.
	proven time.Time
}

// saw returns a copy of x with one more sighting.
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

// last returns the last sighting, or nil if there is none.
func (x others) last() *sighting {
	if len(x.sightings) == 0 {
		return nil
	}
	return &x.sightings[len(x.sightings)-1]
}

// atWork reports whether another allocator is at work. That is so if several Nodes have
// got CIDRs from another allocator, and since then no Node has proved that the
// allocator has stopped.
func (x others) atWork() bool { return len(x.sightings) >= minSightings && !x.isProven() }

// isProven reports whether, since the last sighting, a Node has waited long enough
// without getting CIDRs from another allocator.
func (x others) isProven() bool {
	last := x.last()
	return !x.proven.IsZero() && (last == nil || x.proven.After(last.at))
}

// remaining returns the time that a Node still has to wait until it proves that there
// is no other allocator. since is the time at which its wait began.
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
