package explain

import (
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// State is the state of an object, in one word.
type State string

// The states of an object.
const (
	// Unknown: no daemon has said anything about it.
	Unknown State = "unknown"
	// Ready: it needs nothing.
	Ready State = "ready"
	// Waits: something is missing, and the object says what.
	Waits State = "waits"
	// Deleting: it is being deleted.
	Deleting State = "deleting"
	// LeftAlone: it belongs to another manager, or to none. A request is also LeftAlone
	// if it is denied, if somebody else has decided, or if nobody waits for it.
	LeftAlone State = "leftAlone"
)

// Answer says why an object is in its state. Its JSON is stable: fields may be added,
// and none is renamed.
type Answer struct {
	Object Object `json:"object"`
	// Source is Offline or Live.
	Source string `json:"source"`
	// NotLive is why the answer lacks the daemon's memory although that was asked
	// for.
	NotLive string `json:"notLive,omitempty"`
	State   State  `json:"state"`
	// Summary is the state in one sentence.
	Summary string `json:"summary"`
	// Why is what the daemon has written as the reason, nil if it has written none.
	Why *Cause `json:"why,omitempty"`
	// Since is when the state began, nil if that is not known.
	Since *time.Time `json:"since,omitempty"`
	// Also are the other reasons that the object shows now.
	Also []Cause `json:"also,omitempty"`
	// Reported are the causes that the daemon has reported lately. They may be
	// over.
	Reported []Cause `json:"reported,omitempty"`
	// Writers are those who have written the fields that matter for the answer.
	Writers []Writer `json:"writers,omitempty"`
	// Memory is what the controllers of the leader remember, for a live answer.
	Memory []step.Memory `json:"memory,omitempty"`
	// Daemon is empty in a list, because the list has it once for all answers.
	Daemon Daemon `json:"daemon,omitzero"`
	// Next are commands to type next.
	Next []string `json:"next,omitempty"`
}

// Object is what an answer is about.
type Object struct {
	Kind string `json:"kind"`
	// Key is NAMESPACE/NAME for a Service, the CIDR for a route, and the name for others.
	Key             string `json:"key"`
	UID             string `json:"uid,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// Cause is a reason that the daemon has written.
type Cause struct {
	// Shown is where it is written: "condition TYPE=STATUS", "event", or "event NAME" if
	// the reason is the beginning of the event's text and not its name.
	Shown  string `json:"shown"`
	Reason string `json:"reason"`
	// Text is the daemon's message.
	Text string `json:"message"`
	// Do is what the reference of events says that you can do, empty for nothing.
	Do    string    `json:"do,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Times is how often an event was recorded.
	Times int `json:"times,omitempty"`
	// About is the object, if it differs from that of the answer.
	About string `json:"about,omitempty"`
}

// Writer is who has written a field last.
type Writer struct {
	Field   string    `json:"field"`
	Manager string    `json:"manager"`
	Time    time.Time `json:"time,omitzero"`
}

// Daemon is what is known of the daemon, mostly from its Lease.
type Daemon struct {
	Lease string `json:"lease"`
	// Leader is the holder of the Lease, empty if there is none.
	Leader string `json:"leader,omitempty"`
	// Version is that of the daemon that was asked.
	Version string    `json:"version,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Renewed time.Time `json:"renewed,omitzero"`
	// Problem is why no daemon works, empty if one does.
	Problem string `json:"problem,omitempty"`
	// Reported is what the daemon has reported about itself lately.
	Reported []Cause `json:"reported,omitempty"`
}

// IsZero reports whether nothing is said of a daemon.
func (d Daemon) IsZero() bool { return d.Lease == "" }

// Waiting is everything that waits, the longest wait first.
type Waiting struct {
	Source string   `json:"source"`
	Daemon Daemon   `json:"daemon"`
	Items  []Answer `json:"items"`
	// Unread has the API server's answer for each kind of objects that you may not
	// list.
	Unread []string `json:"unread,omitempty"`
}
