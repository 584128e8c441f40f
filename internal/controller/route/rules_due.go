package route

import (
	"container/heap"
	"net/netip"
	"time"
)

// due is a time at which a CIDR or a Node is planned again. A later plan can set
// another time (share.until or view.until). Then this time no longer counts.
type due struct {
	at   time.Time
	cidr netip.Prefix
	name string // of the Node, empty for a CIDR
}

// agenda has the due times, the earliest first. It is a heap.
type agenda []due

// take removes and returns the entries that are due.
func (a *agenda) take(now time.Time) []due {
	var all []due
	for len(*a) > 0 && !now.Before((*a)[0].at) {
		all = append(all, heap.Pop(a).(due))
	}
	return all
}

func (a *agenda) Len() int           { return len(*a) }
func (a *agenda) Less(i, j int) bool { return (*a)[i].at.Before((*a)[j].at) }
func (a *agenda) Swap(i, j int)      { (*a)[i], (*a)[j] = (*a)[j], (*a)[i] }

// Push is part of heap.Interface.
func (a *agenda) Push(d any) { *a = append(*a, d.(due)) }

// Pop is part of heap.Interface.
func (a *agenda) Pop() any {
	last := len(*a) - 1
	d := (*a)[last]
	*a = (*a)[:last]
	return d
}

// isCurrent reports whether a due time still counts.
func (t *table) isCurrent(d due) bool {
	if d.name != "" {
		return t.views[d.name].until.Equal(d.at)
	}
	return t.shares[d.cidr].until.Equal(d.at)
}

// after returns the longest time until the table is planned again.
func (t *table) after(o observed) time.Duration {
	after := untilListing(o)
	for len(t.due) > 0 {
		if first := t.due[0]; t.isCurrent(first) {
			return min(after, first.at.Sub(o.now))
		}
		heap.Pop(&t.due)
	}
	return after
}
