package ipam

import (
	"time"
)

const (
	// shortWait is how long a Node has to wait for a CIDR before the first one is
	// given. Another allocator, such as kube-controller-manager, gives one within a
	// second.
	shortWait = 10 * time.Second
	// longWait is how long it has to wait when another allocator was seen at
	// work, and for how long a sighting counts.
	longWait = 10 * time.Minute
	// minSightings is how many Nodes another allocator must have given CIDRs to. A
	// kubelet can set the CIDRs of its own Node, so that one Node proves nothing.
	minSightings = 2
)

// sighting is a Node that has got CIDRs that this daemon has not given.
type sighting struct {
	node    string
	cidrs   []string
	manager string // of the field, as managedFields has it; empty if unknown
	at      time.Time
}

// others is what is known of other allocators of CIDRs.
type others struct {
	sightings []sighting // within longWait of the last one, one for each Node
	// proven is when a Node had waited for so long that nobody else gives CIDRs;
	// zero: never.
	proven time.Time
}

// saw returns what is known after a sighting.
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
// from it, and since then no Node has waited in vain.
func (x others) atWork() bool { return len(x.sightings) >= minSightings && !x.isProven() }

// isProven reports whether a Node has waited in vain since the last sighting.
func (x others) isProven() bool {
	last := x.last()
	return !x.proven.IsZero() && (last == nil || x.proven.After(last.at))
}

// remaining returns for how long a Node that has waited since some time has to go
// on waiting until it proves that nobody else gives CIDRs.
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
