package shadow

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// What says how the fate of an object differs from what this daemon would have done.
type What string

// The differences. Deleted and Initialized are about something that has happened,
// the others about something that has not.
const (
	Deleted     What = "deleted"     // this daemon would have kept it
	Initialized What = "initialized" // this daemon would have let it wait
	NotDeleted  What = "not_deleted" // this daemon would have deleted it
	NotMade     What = "not_made"    // this daemon would have made or initialised it
)

// All has all differences.
var All = []What{Deleted, Initialized, NotDeleted, NotMade}

// Why returns the sentence about a difference.
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

// LastsAfter is how long the present manager has to do what this daemon would do.
const LastsAfter = 5 * time.Minute

// Facts are what the cluster says about the object of a look.
type Facts struct {
	// UID is that of the object; empty if the look is about several.
	UID types.UID
	// Deletes is the kind of the objects that this controller deletes; empty for none.
	Deletes string
	// Waits means that the object is a Node to be initialised, and that the controller
	// of the look initialises Nodes.
	Waits bool
}

// decision is what would be done about an object.
type decision struct {
	step  step.Step
	facts Facts
	since time.Time // when it was first decided
}

// changed reports whether now is another decision than before. Why is not compared,
// because it may contain a number that changes.
func changed(before, now step.Step) bool {
	return before.Effect != now.Effect || before.Do != now.Do || before.Reason != now.Reason
}

// lost reports whether an object that is gone was deleted although this daemon would
// have kept it. Who has deleted it is not known.
func (d decision) lost() bool {
	kind, _, _ := strings.Cut(d.step.Object, "/")
	return kind == d.facts.Deletes && d.step.Effect != step.Delete && d.step.Effect != step.Create // What was to be made was never there.
}

// initialized reports whether a Node that this daemon would have let wait has been
// initialised.
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
