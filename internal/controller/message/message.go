// Package message holds what every controller tells the owner of an object: a
// cause, which becomes a condition or a log line, and an event.
//
// It is pure: rules and decisions may import it.
package message

import "strings"

// Cause is why an object is in its present state.
type Cause struct {
	// Reason is one of the controller's closed set, in CamelCase.
	Reason string
	// Message names the cause and what to do about it, in sentences.
	Message string
}

// IsZero reports whether there is no cause.
func (c Cause) IsZero() bool { return c == Cause{} }

// Event is a message that is recorded on an object for its owner.
type Event struct {
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason is one of the controller's closed set, in CamelCase.
	Reason string
	// Message says what has happened, what it means, and what to do about it.
	Message string
}

// Reason describes what one reason means, for the reference page of events and
// conditions. Every event and every condition is made from a Reason.
type Reason struct {
	// Name is the reason itself, in CamelCase.
	Name string
	// On is the kind of the object: Node, Service or Lease.
	On string
	// Condition is the type of the condition that shows the reason, empty for
	// an event.
	Condition string
	// Type is the type of the event, empty for a condition.
	Type string
	// When says what has happened. Do says what the reader can do; empty means
	// nothing.
	When, Do string
}

// Event returns an event with this reason.
func (r Reason) Event(message string) Event { return Event{r.Type, r.Name, message} }

// Cause returns a cause with this reason.
func (r Reason) Cause(message string) Cause { return Cause{r.Name, message} }

// MaxErrorBytes is how much of an error's text is shown on an object. Every
// watcher of the object keeps it in memory.
const MaxErrorBytes = 1000

// Cut returns the text of an error, cut to MaxErrorBytes.
func Cut(err error) string {
	text := err.Error()
	if len(text) <= MaxErrorBytes {
		return text
	}
	return strings.ToValidUTF8(text[:MaxErrorBytes], "") + "…"
}
