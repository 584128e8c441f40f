package explain

import (
	"slices"
	"strings"
	"time"
)

// The sources of an answer.
const (
	// Offline means that the answer comes from the API server only.
	Offline = "offline"
	// Live means that the answer comes from the API server and from the memory of
	// the leading daemon.
	Live = "live"
)

// Explain returns the answer to the question why an object is in its state.
func (all Reasons) Explain(v View) Answer {
	switch {
	case v.Node != nil:
		return all.node(v)
	case v.Service != nil:
		return all.service(v)
	case v.Volume != nil:
		return all.volume(v)
	case v.Request != nil:
		return all.request(v)
	default:
		return all.route(v)
	}
}

// Waiting returns the objects that wait. The object that has waited longest comes
// first.
//
// Waiting also returns objects that are being deleted, and objects about which no
// daemon has written anything, because a daemon might still have to work on them. It
// leaves out volumes in these two states, because a daemon that has to work on a volume
// writes an event.
func (all Reasons) Waiting(views []View, d DaemonView, now time.Time) Waiting {
	w := Waiting{Source: Offline, Daemon: all.daemon(d, now), Items: []Answer{}}
	for _, v := range views {
		v.Daemon = d
		a := all.Explain(v)
		a.Daemon = Daemon{} // Waiting has the Daemon once for all items.
		if a.State == Waits || v.Volume == nil && (a.State == Unknown || a.State == Deleting) {
			w.Items = append(w.Items, a)
		}
	}
	slices.SortStableFunc(w.Items, func(a, b Answer) int { return before(a.Since, b.Since) })
	return w
}

func before(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return a.Compare(*b)
}

// sinceOf returns the start time of the first claim that has one. It returns nil
// if no claim has a start time.
func sinceOf(claims []claim) *time.Time {
	for _, c := range claims {
		if !c.cause.Since.IsZero() {
			return &c.cause.Since
		}
	}
	return nil
}

// split returns the namespace and the name of a key.
func split(key string) (namespace, name string) {
	namespace, name, _ = strings.Cut(key, "/")
	return namespace, name
}
