package route

import (
	"maps"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// memory is what this process knows beyond the Nodes. A process that loses it
// lists the routes once more and removes some of them later. Nothing else is
// lost.
type memory struct {
	listing        listing
	listingFailure failure   // the failure of the last listing; zero if it has succeeded
	listingSince   time.Time // when a listing began that has timed out and not returned yet; zero if there is none
	nextListing    time.Time // when the next regular listing is due

	created  map[claim]time.Time        // creations that have succeeded
	removed  map[identity]time.Time     // removals that have succeeded
	strays   map[identity]time.Time     // when an answer first showed the route as stray
	deleted  map[string]deletedNode     // Nodes whose deletion was seen, by name
	failures map[netip.Prefix]failure   // of the last job for a CIDR
	recorded map[claim]string           // the kind of the last event about a CIDR of a Node
	pending  map[netip.Prefix]time.Time // since when a job is queued or under way
	patched  map[types.UID]patched      // the condition that was last written
}

func newMemory() memory {
	return memory{
		created: map[claim]time.Time{}, removed: map[identity]time.Time{}, strays: map[identity]time.Time{}, deleted: map[string]deletedNode{},
		failures: map[netip.Prefix]failure{}, recorded: map[claim]string{}, pending: map[netip.Prefix]time.Time{},
		patched: map[types.UID]patched{},
	}
}

func (m *memory) clone() memory {
	c := *m
	c.created, c.removed, c.strays, c.deleted = maps.Clone(m.created), maps.Clone(m.removed), maps.Clone(m.strays), maps.Clone(m.deleted)
	c.failures, c.recorded, c.pending, c.patched = maps.Clone(m.failures), maps.Clone(m.recorded), maps.Clone(m.pending), maps.Clone(m.patched)
	return c
}

// oldestFailure returns when the failure that has lasted longest began. It
// returns the zero value if there is no failure.
func (m *memory) oldestFailure() time.Time {
	var oldest time.Time
	for _, f := range m.failures {
		if oldest.IsZero() || f.since.Before(oldest) {
			oldest = f.since
		}
	}
	return oldest
}
