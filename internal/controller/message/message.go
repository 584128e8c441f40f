// Package message holds what every controller tells the owner of an object: a
// cause, which becomes a condition or a log line, and an event.
//
// It is pure: rules and decisions may import it.
package message

import "github.com/fairlead-k8s/fairlead/internal/printable"

// Cause is why an object is in its present state. It is made by Reason.Cause and
// its own methods, which bound its message.
type Cause struct {
	// Reason is one of the controller's closed set, in CamelCase.
	Reason string
	// Message names the cause and what to do about it, in sentences.
	Message string
}

// IsZero reports whether there is no cause.
func (c Cause) IsZero() bool { return c == Cause{} }

// After returns the cause with words before its message.
func (c Cause) After(words string) Cause {
	return Cause{c.Reason, show(words+c.Message, MaxConditionBytes)}
}

// Followed returns the cause with words after its message.
func (c Cause) Followed(words string) Cause {
	return Cause{c.Reason, show(c.Message+words, MaxConditionBytes)}
}

// Event is a message that is recorded on an object for its owner. It is made by
// Reason.Event, which bounds its message.
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
	// On is the kind of the object, such as Node or Service.
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
func (r Reason) Event(message string) Event {
	return Event{r.Type, r.Name, show(message, MaxEventBytes)}
}

// Cause returns a cause with this reason.
func (r Reason) Cause(message string) Cause {
	return Cause{r.Name, show(message, MaxConditionBytes)}
}

// The lengths of texts are bounded, because every watcher of an object keeps its
// messages in memory.
const (
	// MaxEventBytes is the length of the longest message of an event, in bytes, as
	// the API conventions ask.
	MaxEventBytes = 1024
	// MaxConditionBytes is the length of the longest message of a condition. The API
	// conventions allow more.
	MaxConditionBytes = 2048
	// MaxErrorBytes is the length of the longest text of an error in a message.
	MaxErrorBytes = 1000
	// MaxValueBytes is the length of the longest value that a message quotes, such as a
	// provider ID.
	MaxValueBytes = 200
)

// Cut returns the text of an error, cut to MaxErrorBytes. Line feeds, control
// characters, and what may be secret in URLs are replaced: tenants read events
// and conditions.
func Cut(err error) string { return show(err.Error(), MaxErrorBytes) }

// Value returns a value that a cloud, a kubelet or a tenant has chosen, cut to
// MaxValueBytes, so that the message around it is not cut.
func Value(value string) string { return show(value, MaxValueBytes) }

func show(text string, limit int) string {
	return printable.Line(printable.WithoutSecrets(text), limit)
}
