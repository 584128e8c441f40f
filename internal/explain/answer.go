package explain

import (
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// State is the state of an object, in one word.
type State string

// The states of an object.
const (
	Unknown  State = "unknown"  // no daemon has written anything about it
	Ready    State = "ready"    // it does not wait for anything
	Waits    State = "waits"    // something is missing, and the daemon has written what it is
	Deleting State = "deleting" // it is being deleted
	// LeftAlone means that the object belongs to another manager, or to none. A request
	// is also LeftAlone if it is denied, if somebody else has decided on it, or if
	// nobody waits for it.
	LeftAlone State = "leftAlone"
)

// The sources of an answer.
const (
	Offline = "offline" // the API server only
	Live    = "live"    // also the memory of the leading daemon
)

// Answer says why an object is in its state. Its JSON is stable: fields may be added,
// but are never renamed. docs/reference/explain.md describes all fields.
type Answer struct {
	Object Object `json:"object"`
	Source string `json:"source"`
	// NotLive is the reason why the answer lacks the daemon's memory although
	// --daemon is set.
	NotLive string `json:"notLive,omitempty"`
	State   State  `json:"state"`
	Summary string `json:"summary"`
	// Why is the reason that the daemon has written. It is nil if there is none.
	Why      *Cause     `json:"why,omitempty"`
	Since    *time.Time `json:"since,omitempty"`
	Also     []Cause    `json:"also,omitempty"`     // the other reasons that the object shows now
	Reported []Cause    `json:"reported,omitempty"` // in the last hour; they might be over
	// Others has events of the last hour that have a reason of the daemon, but that
	// others have recorded. The answer does not depend on them.
	Others  []Cause       `json:"others,omitempty"`
	Writers []Writer      `json:"writers,omitempty"`
	Memory  []step.Memory `json:"memory,omitempty"` // of the leader's controllers, in a live answer
	// Daemon is empty in Waiting.Items, because Waiting.Daemon is the same for all
	// items.
	Daemon Daemon   `json:"daemon,omitzero"`
	Next   []string `json:"next,omitempty"` // commands
}

// Object is the object that an answer is about.
type Object struct {
	Kind string `json:"kind"`
	// Key is NAMESPACE/NAME for a Service, the CIDR for a route, and the name for others.
	Key             string `json:"key"`
	UID             string `json:"uid,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
}

// Cause is a reason that the daemon has written. An event is the daemon's if its source
// says so. The API server does not check that.
type Cause struct {
	// Shown says where the daemon has written the reason: "condition TYPE=STATUS",
	// "event" or "event NAME". The form "event NAME" stands for an event with the
	// reason NAME, whose text begins with the field Reason.
	Shown  string `json:"shown"`
	Reason string `json:"reason"`
	// Text is the daemon's message.
	Text string `json:"message"`
	// Do is the advice from the reference of events. It is empty if you need to
	// do nothing.
	Do    string    `json:"do,omitempty"`
	Since time.Time `json:"since,omitzero"`
	// Times is the number of times that the event was recorded.
	Times int `json:"times,omitempty"`
	// About is the object of the reason, if it differs from the object of the
	// answer.
	About string `json:"about,omitempty"`
	// By is the source of an event in Answer.Others.
	By string `json:"by,omitempty"`
}

// Writer is the last writer of a field.
type Writer struct {
	Field   string    `json:"field"`
	Manager string    `json:"manager"`
	Time    time.Time `json:"time,omitzero"`
}

// Daemon is the state of the daemon, mostly derived from its Lease.
type Daemon struct {
	Lease   string    `json:"lease"`
	Leader  string    `json:"leader,omitempty"`
	Version string    `json:"version,omitempty"` // of the daemon that was asked
	Since   time.Time `json:"since,omitzero"`
	Renewed time.Time `json:"renewed,omitzero"`
	// Problem is the reason why no daemon works, or why that is unknown. It is
	// empty if a daemon works.
	Problem string `json:"problem,omitempty"`
	// Reported has the causes that the daemon has reported about itself in the
	// last hour.
	Reported []Cause `json:"reported,omitempty"`
}

// IsZero reports whether d has no data about a daemon.
func (d Daemon) IsZero() bool { return d.Lease == "" }

// Waiting has all objects that wait. The longest wait comes first.
type Waiting struct {
	Source string   `json:"source"`
	Daemon Daemon   `json:"daemon"`
	Items  []Answer `json:"items"`
	// Unread has the API server's answer for each kind of object that you have no
	// right to list.
	Unread []string `json:"unread,omitempty"`
}
