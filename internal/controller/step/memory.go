package step

import "time"

// MemoryPath is the prefix of the paths at which a daemon serves values of type Memory.
// The whole path is MemoryPath + KIND + "/" + KEY.
const MemoryPath = "/debug/fairlead/v1/objects/"

// Memory is what a running controller remembers about an object. It is for people who
// ask why the object waits. It has no secrets, because its messages are the same as in
// events and conditions.
type Memory struct {
	Controller string `json:"controller"`
	// Reason and Text say why the object waits, as far as the controller knows without
	// asking the cloud. Both are empty if the object does not wait. Text is also empty
	// if the controller remembers only the reason. Reason is also empty if no event and
	// no condition shows the wait.
	Reason string `json:"reason,omitempty"`
	Text   string `json:"message,omitempty"`
	// Since is the time when the wait began.
	Since time.Time `json:"since,omitzero"`
	// Do is the action that the controller would take now, as in Step.
	Do string `json:"do,omitempty"`
	// Said is the last answer of the cloud. SaidAt is the time of that answer.
	Said   string    `json:"said,omitempty"`
	SaidAt time.Time `json:"saidAt,omitzero"`
	// Attempts is the number of calls in a row that have failed, or whose answer has
	// not ended the wait. For a Node, only calls count that it is useless to repeat soon:
	// an instance that is not found counts, and an outage does not.
	Attempts int `json:"attempts,omitempty"`
	// NextLook is the latest time at which the controller decides again. The zero value
	// means that the controller waits for a change, or that its queue decides when the
	// next call is made.
	NextLook time.Time `json:"nextLook,omitzero"`
	// Backends are the names of the Nodes behind the load balancer of a Service, if they
	// are chosen for this Service (--service-backends).
	Backends []string `json:"backends,omitempty"`
	// Evidence is about a Node whose kubelet is silent.
	Evidence *Evidence `json:"evidence,omitempty"`
}

// Evidence has the cloud's answers about a Node while the Node's kubelet was silent.
type Evidence struct {
	// Absences is the number of answers in a row that have said that the instance does
	// not exist.
	Absences int `json:"absences"`
	// Of is the number of such answers that a deletion of the Node needs.
	Of int `json:"of"`
	// Since is the time of the first of these answers.
	Since time.Time `json:"since,omitzero"`
	// For is the time for which the answer has to stay the same before the Node is
	// deleted.
	For string `json:"for,omitempty"`
}
