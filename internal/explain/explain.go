// Package explain has the command `fairlead explain`, which says why an object waits,
// in the words of the daemon.
//
// A subject has what was read about one object. The rules (rules_*.go) are pure functions
// that turn a subject into an Answer. They do not invent reasons, because the daemon has
// written the reason and the message on the object.
package explain

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// reasons has all reasons of the daemon. "make generate" writes the file from the
// controllers, so that a tool that only looks at a cluster need not link them.
//
//go:embed reasons.json
var reasons []byte

// Reasons has all reasons that the daemon writes.
type Reasons []message.Reason

// AllReasons returns all reasons that the daemon writes.
func AllReasons() Reasons {
	var all Reasons
	if err := json.Unmarshal(reasons, &all); err != nil {
		panic(err) // A test reads the file.
	}
	return all
}

// find returns the reason with this name for this kind of object and this condition.
// The condition is empty for an event.
func (all Reasons) find(on, condition, name string) (message.Reason, bool) {
	return all.which(func(r message.Reason) bool { return r.On == on && r.Condition == condition && r.Name == name })
}

// of returns the reason with this name that a condition of this kind of object can
// have. The type of the condition does not matter.
func (all Reasons) of(on, name string) (message.Reason, bool) {
	return all.which(func(r message.Reason) bool { return r.On == on && r.Condition != "" && r.Name == name })
}

func (all Reasons) which(is func(message.Reason) bool) (message.Reason, bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	return message.Reason{}, false
}

// subject has what was read about one object.
type subject struct {
	Object Object
	of     metav1.Object // the object itself; for a route, the oldest of its owners
	// owners is the number of Nodes that use the CIDR of a route for their pods.
	owners int
	// events are about the object. For a route or a request, they are about its Node.
	events []corev1.Event
	daemon daemonView
	now    time.Time
}

// explain returns the answer to the question why an object is in its state.
func (all Reasons) explain(s subject) Answer {
	k := kinds[s.Object.Kind]
	if s.of == nil {
		a := s.answer(all, nil, nil)
		a.State, a.Summary = Unknown, "No Node has this CIDR. Only the cloud and the daemon know whether there is such a route. Look at the daemon's events, and run its sub-command plan."
		return a
	}
	a := k.explain(all, s)
	a.Writers = writers(s.of.GetManagedFields(), k.fields)
	a.Next = append(a.Next, strings.NewReplacer("{namespace}", s.of.GetNamespace(), "{name}", s.of.GetName()).Replace(k.describe))
	return a
}

// answer returns the answer that follows from the claims. The first claim is the most
// important one.
func (s subject) answer(all Reasons, claims []claim, events []event) Answer {
	a := Answer{Object: s.Object, Source: Offline, Daemon: all.daemon(s.daemon, s.now)}
	var shown []Cause
	for i, c := range claims {
		shown = append(shown, c.cause)
		if i > 0 {
			a.Also = append(a.Also, c.cause)
			continue
		}
		a.State, a.Summary, a.Why = c.state, c.summary, &shown[0]
		if !c.cause.Since.IsZero() {
			a.Since = &c.cause.Since
		}
	}
	a.Reported = reported(events, shown, s.now)
	a.Others = all.byOthers(s.Object.eventsOn(), s.events, s.now)
	switch namespace, name := split(s.daemon.name); {
	case a.Daemon.Problem == "":
	case s.daemon.lease == nil && s.daemon.unread == "":
		a.Next = append(a.Next, fmt.Sprintf("kubectl -n %s get leases", namespace))
	default:
		a.Next = append(a.Next, fmt.Sprintf("kubectl -n %s get lease %s -o yaml", namespace, name))
	}
	return a
}

// WaitingIn returns the objects of a View that wait. The object that has waited longest
// comes first. The argument lease is the namespace/name of the daemon's Lease.
func (all Reasons) WaitingIn(v *cluster.View, lease string) Waiting {
	return all.waiting(subjects(v), daemonOf(v, lease), v.Now)
}

// waiting also returns objects that are being deleted, and objects about which no
// daemon has written anything, because a daemon might still have to work on them. It
// leaves out volumes in these two states, because a daemon that has to work on a volume
// writes an event.
func (all Reasons) waiting(subjects []subject, d daemonView, now time.Time) Waiting {
	w := Waiting{Source: Offline, Daemon: all.daemon(d, now), Items: []Answer{}}
	for _, s := range subjects {
		s.daemon = d
		a := all.explain(s)
		a.Daemon = Daemon{} // Waiting has the Daemon once for all items.
		if a.State == Waits || s.Object.Kind != kindVolume && (a.State == Unknown || a.State == Deleting) {
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
