package step

import "time"

// MemoryPath is the path below which a daemon serves memories: MemoryPath + KIND + "/" +
// KEY.
const MemoryPath = "/debug/fairlead/v1/objects/"

// Memory is what a running controller remembers of an object, for people who ask why it
// waits. It has no secrets: its messages are those of events and conditions.
type Memory struct {
	Controller string `json:"controller"`
	// Reason and Text say why the object waits, as of the last pass over it. They are
	// empty if it does not wait. Text is also empty if the controller remembers only the
	// reason. Reason is also empty if no event and no condition shows the wait.
	Reason string `json:"reason,omitempty"`
	Text   string `json:"message,omitempty"`
	// Since is when the wait began.
	Since time.Time `json:"since,omitzero"`
	// Do is what the controller would do now, as in Step.
	Do string `json:"do,omitempty"`
	// Said is what the cloud has said last, and SaidAt is when.
	Said   string    `json:"said,omitempty"`
	SaidAt time.Time `json:"saidAt,omitzero"`
	// Attempts is how many calls in a row have failed, or had an answer that does not end
	// the wait.
	Attempts int `json:"attempts,omitempty"`
	// NextLook is when the controller decides again at the latest. The zero value means
	// that it waits for a change.
	NextLook time.Time `json:"nextLook,omitzero"`
	// Evidence is about a Node whose kubelet is silent.
	Evidence *Evidence `json:"evidence,omitempty"`
}

// Evidence is what the cloud has said of a Node while its kubelet was silent.
type Evidence struct {
	// Absences is how many answers in a row have said that the instance does not exist.
	// Of is how many are needed.
	Absences int `json:"absences"`
	Of       int `json:"of"`
	// Since is when the first of these answers came. For is how long the answers have to
	// stay the same.
	Since time.Time `json:"since,omitzero"`
	For   string    `json:"for,omitempty"`
}
