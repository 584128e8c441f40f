package route

import (
	"maps"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// memory has everything that this process knows, except the Nodes. A new process starts
// without a memory. So it lists the routes again, waits longer before it removes some
// of them, and may repeat calls and events.
type memory struct {
	listing        listing
	listingFailure failure   // the failure of the last listing; zero if the listing has succeeded
	listingSince   time.Time // the start of a listing that may not have returned yet; zero if there is none
	nextListing    time.Time // the time of the next regular listing

	created  map[claim]time.Time            // creations that the listing may lack
	removed  map[identity]time.Time         // removals that the listing may lack
	strays   map[identity]time.Time         // the time of the answer that first showed the route as stray
	deleted  map[string]deletedNode         // Nodes whose deletion was seen, by name
	given    map[types.UID]time.Time        // when Nodes without CIDRs were seen to get some
	failures map[netip.Prefix]failure       // the failure of the last job for a CIDR
	recorded map[claim]showing.News         // the events about a CIDR of a Node, by kind; the zero CIDR stands for the Node's condition
	pending  map[netip.Prefix]pendingJob    // the jobs that are queued or under way
	patched  map[types.UID]patched          // the condition that was last written
	foreign  map[types.UID]foreignCondition // the condition of another writer that an event has reported
}

func newMemory() memory {
	return memory{
		created: map[claim]time.Time{}, removed: map[identity]time.Time{}, strays: map[identity]time.Time{}, deleted: map[string]deletedNode{}, given: map[types.UID]time.Time{},
		failures: map[netip.Prefix]failure{}, recorded: map[claim]showing.News{}, pending: map[netip.Prefix]pendingJob{},
		patched: map[types.UID]patched{}, foreign: map[types.UID]foreignCondition{},
	}
}

// pendingJob is a job that was planned, and has not ended.
type pendingJob struct {
	job   job
	since time.Time
}

// deleteCIDR deletes what is remembered of this CIDR of any Node.
func deleteCIDR[V any](of map[claim]V, cidr netip.Prefix) {
	maps.DeleteFunc(of, func(c claim, _ V) bool { return c.cidr == cidr })
}

// foreseen records in the memory a plan that is not carried out.
func (m *memory) foreseen(p plan, _ time.Time) { m.strays = p.strays }

// planned records in the memory that a plan is about to be carried out.
func (m *memory) planned(p plan, now time.Time) {
	m.strays = p.strays
	resolved := map[netip.Prefix]bool{}
	for _, cidr := range p.resolved {
		delete(m.failures, cidr)
		resolved[cidr] = true
	}
	for _, next := range p.jobs {
		m.pending[next.cidr] = pendingJob{next, now}
	}
	waits := map[types.UID]bool{}
	for _, patch := range p.patches {
		waits[patch.node.UID] = true
	}
	maps.DeleteFunc(m.recorded, func(c claim, _ showing.News) bool { // The next failure is recorded as an event again.
		return resolved[c.cidr] || c.cidr == netip.Prefix{} && !waits[c.node]
	})
}

// oldestFailure returns the start of the failure that has lasted longest, or the zero
// value if there is no failure.
func (m *memory) oldestFailure() time.Time {
	var oldest time.Time
	for _, f := range m.failures {
		if oldest.IsZero() || f.since.Before(oldest) {
			oldest = f.since
		}
	}
	return oldest
}
