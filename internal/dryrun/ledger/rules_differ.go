package ledger

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// What is the kind of a difference between the fate of an object and this daemon's
// decision.
type What string

// The kinds of differences. Deleted and Initialized are about something that has
// happened. The others are about something that has not happened.
const (
	Deleted     What = "deleted"     // this daemon would have kept it
	Initialized What = "initialized" // this daemon would have let it wait
	NotDeleted  What = "not_deleted" // this daemon would have deleted it
	NotMade     What = "not_made"    // this daemon would have made or initialised it
)

// All has all kinds of differences.
var All = []What{Deleted, Initialized, NotDeleted, NotMade}

// Why returns a sentence about the difference.
func (w What) Why() string {
	switch w {
	case Deleted:
		return "it was deleted, and this daemon would have kept it"
	case Initialized:
		return "it was initialised, and this daemon would have let it wait"
	case NotDeleted:
		return "this daemon would have deleted it, and it is still there"
	case NotMade:
		return "this daemon would have made or initialised it, and nobody has"
	}
	return ""
}

// LastsAfter is the time after which a decision that nobody has carried out counts as a
// difference.
const LastsAfter = 5 * time.Minute

// Facts has what the cluster says about the object of a Look.
type Facts struct {
	// UID is the UID of the object. It is empty if the Look is about several
	// objects.
	UID types.UID
	// Deletes is the kind of the objects that this controller deletes. It is empty
	// if the controller deletes none.
	Deletes string
	// Waits means that the object is a Node that is still to be initialised, and
	// that the Look comes from the controller that initialises Nodes.
	Waits bool
}

// decision is the step that would be taken for an object.
type decision struct {
	step  step.Step
	facts Facts
	since time.Time // when it was first decided
}

// changed reports whether the step has changed. The field Why is not compared,
// because it may contain a number that changes.
func changed(before, now step.Step) bool {
	return before.Effect != now.Effect || before.Do != now.Do || before.Reason != now.Reason
}

// lost is called for an object that is gone. It reports whether the object was
// deleted although this daemon would have kept it. It cannot know who has deleted the
// object.
func (d decision) lost() bool {
	kind, _, _ := strings.Cut(d.step.Object, "/")
	// An object that this daemon would have created did not exist, so nobody has
	// deleted it.
	return kind == d.facts.Deletes && d.step.Effect != step.Delete && d.step.Effect != step.Create
}

// initialized reports whether a Node has been initialised although this daemon would
// have let it wait.
func (d decision) initialized(now Facts) bool {
	return d.facts.Waits && !now.Waits && d.step.Effect == step.Wait
}

// lasting returns the difference if the decision should have been carried out by
// now.
func (d decision) lasting(now time.Time) (What, bool) {
	if now.Sub(d.since) < LastsAfter {
		return "", false
	}
	switch d.step.Effect {
	case step.Delete:
		return NotDeleted, true
	case step.Create:
		return NotMade, true
	case step.None, step.Update, step.Wait:
	}
	return "", false
}
