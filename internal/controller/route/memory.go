package route

import (
	"maps"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// memory is what this process knows beyond the Nodes. Losing it delays removals
// and costs a listing, and does no harm.
type memory struct {
	listing        listing
	listingFailure failure   // of the last call that listed the routes
	listingSince   time.Time // when a call began that was given up and is not answered; zero: none
	nextListing    time.Time // when the next regular listing is due

	created  map[claim]time.Time           // creations that have succeeded
	removed  map[identity]time.Time        // removals that have succeeded
	strays   map[identity]time.Time        // since which answer the route is stray
	deleted  map[string]deletedNode        // Nodes whose deletion was seen, by name
	failures map[netip.Prefix]failure      // of the last job for a CIDR
	recorded map[netip.Prefix]recordedKind // the last event about a CIDR
	pending  map[netip.Prefix]time.Time    // since when a job is queued or under way
	patched  map[types.UID]patched         // the condition that was last written
}

func newMemory() memory {
	return memory{
		created: map[claim]time.Time{}, removed: map[identity]time.Time{}, strays: map[identity]time.Time{}, deleted: map[string]deletedNode{},
		failures: map[netip.Prefix]failure{}, recorded: map[netip.Prefix]recordedKind{}, pending: map[netip.Prefix]time.Time{},
		patched: map[types.UID]patched{},
	}
}

func (m *memory) clone() memory {
	c := *m
	c.created, c.removed, c.strays, c.deleted = maps.Clone(m.created), maps.Clone(m.removed), maps.Clone(m.strays), maps.Clone(m.deleted)
	c.failures, c.recorded, c.pending, c.patched = maps.Clone(m.failures), maps.Clone(m.recorded), maps.Clone(m.pending), maps.Clone(m.patched)
	return c
}

// oldestFailure returns since when the route that has failed longest has failed,
// the zero value if none has.
func (m *memory) oldestFailure() time.Time {
	var oldest time.Time
	for _, f := range m.failures {
		if oldest.IsZero() || f.since.Before(oldest) {
			oldest = f.since
		}
	}
	return oldest
}
