package explain

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// event is an event of the daemon, as far as its source says so.
type event struct {
	message.Reason

	cause Cause
	last  time.Time
}

// The text of some events begins with the reason of a condition. begins maps the reason
// of such an event to the kind of the object that has the condition.
var begins = map[string]string{"CloudInitFailed": "Node", "NodeDeletionHeld": "Node", "NodeDeletionCanceled": "Node", "ServingCertificateHeld": "CertificateSigningRequest"}

// recorded returns the events of the daemon that have one of its reasons for this kind
// of object. The newest event comes first.
func (all Reasons) recorded(on string, events []corev1.Event) []event {
	var known []event
	for i := range events {
		e := &events[i]
		r, ok := all.find(on, "", e.Reason)
		if !ok || !isDaemons(e, r) {
			continue
		}
		first, last, times := cluster.When(e)
		c := Cause{Shown: "event", Reason: e.Reason, Text: e.Message, Do: r.Do, Since: first, Times: times}
		if name, rest, found := strings.Cut(e.Message, ": "); found && begins[e.Reason] != "" {
			if inner, ok := all.of(begins[e.Reason], name); ok {
				c.Shown, c.Reason, c.Text, c.Do = "event "+e.Reason, name, rest, inner.Do
			}
		}
		known = append(known, event{Reason: r, cause: c, last: last})
	}
	slices.SortStableFunc(known, func(a, b event) int { return b.last.Compare(a.last) })
	return known
}

// isDaemons reports whether the daemon has probably recorded the event. The type of an
// event of kube-controller-manager with the same reason and source differs.
func isDaemons(e *corev1.Event, r message.Reason) bool {
	return cluster.IsDaemons(e) && e.Type == r.Type
}

// byOthers returns the newest events of the last hour that have a reason of the daemon,
// but that others have recorded. Nothing follows from them.
func (all Reasons) byOthers(on string, events []corev1.Event, now time.Time) []Cause {
	var others []event
	for i := range events {
		e := &events[i]
		first, last, times := cluster.When(e)
		if r, ok := all.find(on, "", e.Reason); ok && !isDaemons(e, r) && now.Sub(last) < lately {
			c := Cause{Shown: "event", Reason: e.Reason, Text: e.Message, Since: first, Times: times, By: cmp.Or(cluster.SourceOf(e), "an unknown component")}
			others = append(others, event{cause: c, last: last})
		}
	}
	slices.SortStableFunc(others, func(a, b event) int { return b.last.Compare(a.last) })
	var shown []Cause
	for _, e := range others[:min(len(others), mostReported)] {
		shown = append(shown, e.cause)
	}
	return shown
}

// isOver reports whether a newer event has one of these reasons.
func (e event) isOver(events []event, reasons ...string) bool {
	return slices.ContainsFunc(events, func(other event) bool {
		return other.last.After(e.last) && slices.Contains(reasons, other.Name)
	})
}

// lately is the maximum age of the warnings that are shown. The cause of an older one
// is probably over.
const lately = time.Hour

// mostReported is the maximum number of these events in an answer.
const mostReported = 5

// reported returns the newest warnings of the last hour. It leaves out those that the
// answer shows already.
func reported(events []event, shown []Cause, now time.Time) []Cause {
	var all []Cause
	for _, e := range events {
		same := func(c Cause) bool { return c.Reason == e.cause.Reason && c.Text == e.cause.Text }
		isNews := e.Type == corev1.EventTypeWarning && now.Sub(e.last) < lately && !slices.ContainsFunc(shown, same) && !slices.ContainsFunc(all, same)
		if isNews && len(all) < mostReported {
			all = append(all, e.cause)
		}
	}
	return all
}
