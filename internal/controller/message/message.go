// Package message has the types for messages to the owner of an object. Every
// controller uses them. A Cause becomes a condition or a log line. An Event is
// recorded on the object.
//
// This package is pure, so rules and decisions may import it.
package message

import "github.com/fairlead-k8s/fairlead/internal/printable"

// Cause is the cause of an object's present state. Only Reason.Cause and the methods of
// Cause make a Cause, and they limit the length of its message.
type Cause struct {
	// Reason is one reason from the controller's closed set, in CamelCase.
	Reason string
	// Message names the cause in full sentences, and says what can be done about it.
	Message string
}

// IsZero reports whether there is no cause.
func (c Cause) IsZero() bool { return c == Cause{} }

// After returns the cause with these words put before its message.
func (c Cause) After(words string) Cause {
	return Cause{c.Reason, show(words+c.Message, MaxConditionBytes)}
}

// Followed returns the cause with these words added after its message.
func (c Cause) Followed(words string) Cause {
	return Cause{c.Reason, show(c.Message+words, MaxConditionBytes)}
}

// Event is a message that is recorded on an object for its owner. Only Reason.Event
// makes an Event, and it limits the length of the message.
type Event struct {
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason is one reason from the controller's closed set, in CamelCase.
	Reason string
	// Message says what has happened, what that means, and what the owner can do
	// about it.
	Message string
}

// Reason describes the meaning of one reason, for the reference page of events and
// conditions. Every event and every condition is made from a Reason.
type Reason struct {
	// Name is the reason itself, in CamelCase.
	Name string
	// On is the kind of the object, such as Node or Service.
	On string
	// Condition is the type of the condition that shows the reason. It is empty for
	// an event.
	Condition string
	// Type is the type of the event. It is empty for a condition.
	Type string
	// When says what has happened. Do says what the reader can do. An empty Do means
	// that there is nothing to do.
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

// Texts have a maximum length, because every watcher of an object keeps the object's
// messages in memory.
const (
	// MaxEventBytes is the maximum length of an event's message in bytes. The API
	// conventions demand this maximum.
	MaxEventBytes = 1024
	// MaxConditionBytes is the maximum length of a condition's message in bytes. The
	// API conventions allow more.
	MaxConditionBytes = 2048
	// MaxErrorBytes is the maximum length of an error's text in a message.
	MaxErrorBytes = 1000
	// MaxValueBytes is the maximum length of a value that a message quotes, such as a
	// provider ID.
	MaxValueBytes = 200
)

// Cut returns the text of an error, cut to MaxErrorBytes. It replaces line feeds,
// control characters, and the parts of URLs that can be secret, because tenants read
// events and conditions.
func Cut(err error) string { return show(err.Error(), MaxErrorBytes) }

// Value returns a value that a cloud, a kubelet or a tenant has chosen, cut to
// MaxValueBytes. A longer value could push other text out of the message.
func Value(value string) string { return show(value, MaxValueBytes) }

func show(text string, limit int) string {
	return printable.Line(printable.WithoutSecrets(text), limit)
}
