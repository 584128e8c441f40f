// Package step describes the part of a controller's plan for an object that a dry run
// shows.
//
// It is pure.
package step

import "time"

// Effect is the effect of a step on its object.
type Effect string

// The effects. The zero value is not an effect.
const (
	None   Effect = "none" // the object stays as it is
	Create Effect = "create"
	Update Effect = "update"
	Delete Effect = "delete"
	Wait   Effect = "wait" // something is missing, and the object shows what is missing
)

// Step is a thing that a controller would do about an object, and the reason for it.
// Its JSON is part of the output of the sub-command "plan", so fields may be added, but
// no field is renamed.
type Step struct {
	// Object is the kind and the key, such as "node/worker-1".
	Object string `json:"object"`
	// Controller is the name of the controller.
	Controller string `json:"controller,omitempty"`
	Effect     Effect `json:"effect"`
	// Do is the action in the controller's words.
	Do string `json:"do"`
	// Reason is the reason of the event or condition that says the same as Why. It is
	// empty if there is none.
	Reason string `json:"reason,omitempty"`
	// Why is the sentence that the log, the event and the condition also show.
	Why string `json:"why"`
	// Writes are the changes in the API server.
	Writes []string `json:"writes,omitempty"`
	// Calls are the calls that change the cloud.
	Calls []string `json:"calls,omitempty"`
	// After is the time that the controller would wait until it decides again. 0 means
	// that it waits for a change.
	After time.Duration `json:"-"`
}

// Changes reports whether the step changes the cluster or the cloud, or waits for
// something that is missing.
func (s Step) Changes() bool { return s.Effect != None }
