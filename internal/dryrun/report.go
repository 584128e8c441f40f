package dryrun

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/printable"
)

// Report is the result of a dry run. Its JSON is stable: fields may be added, and
// none is renamed.
type Report struct {
	// Looked is the number of objects that were looked at, by kind.
	Looked map[string]int `json:"lookedAt"`
	// CloudCalls is the number of calls that have read the cloud.
	CloudCalls int         `json:"cloudCalls"`
	Steps      []step.Step `json:"steps"`
	// Idle lists the controllers that would not run, or cannot say what they would
	// do.
	Idle []Idle `json:"idle,omitempty"`
	// Refused lists the requests and calls of the provider that were refused because
	// they would have changed something.
	Refused []string `json:"refused,omitempty"`

	took time.Duration
}

// Idle is a controller that is not looked at.
type Idle struct {
	Controller string `json:"controller"`
	Why        string `json:"why"`
}

func (r *Report) idle(controller, why string) {
	r.Idle = append(r.Idle, Idle{controller, why})
}

// add adds the steps for all objects to the report, in the order of the objects. The
// error names the objects that could not be looked at.
func (r *Report) add(looks []*look) error {
	var errs []error
	r.Looked, r.Steps = map[string]int{}, []step.Step{}
	seen := map[string]bool{}
	for _, l := range looks {
		if l.err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", l.Kind, l.key, l.err))
		}
		for _, s := range l.steps {
			if kind := kindOf(s.Object); !seen[s.Object] {
				seen[s.Object] = true
				r.Looked[kind]++
			}
			r.Steps = append(r.Steps, s)
		}
	}
	slices.SortStableFunc(r.Steps, func(a, b step.Step) int {
		return cmp.Or(cmp.Compare(kindOf(a.Object), kindOf(b.Object)), cmp.Compare(a.Object, b.Object))
	})
	return errors.Join(errs...)
}

// Changes reports whether something would be done, or waits.
func (r *Report) Changes() bool { return slices.ContainsFunc(r.Steps, step.Step.Changes) }

// signs has the first character of an object's line, by effect.
var signs = map[step.Effect]string{step.None: " ", step.Create: "+", step.Update: "~", step.Delete: "-", step.Wait: "!"}

// maxLine bounds the text about an object. A cloud or a tenant may have written it.
const maxLine = 2048

// maxName bounds the name of an object or of an action.
const maxName = 512

// Print writes the report for people. An object about which nothing would be done gets
// a line only if the parameter all is true. Otherwise it is only counted.
func (r *Report) Print(out io.Writer, all bool) error { //nolint:revive // flag-parameter: it comes from a flag
	var w strings.Builder
	fmt.Fprintf(&w, "Read-only: no lease, no event, no write, no call that changes the cloud. Looked at %s in %v, with %d calls to the cloud.\n",
		counted(r.Looked), r.took.Round(time.Second/10), r.CloudCalls)
	objects, actions := 0, 0
	var shown []step.Step
	for _, s := range r.Steps {
		if all || s.Changes() {
			// The targets and destinations of routes come from the cloud, and may contain
			// anything.
			s.Object, s.Do = printable.Line(s.Object, maxName), printable.Line(s.Do, maxName)
			shown = append(shown, s)
			objects, actions = max(objects, len(s.Object)), max(actions, len(s.Do))
		}
	}
	for _, s := range shown {
		why := s.Why
		if s.Reason != "" {
			why = s.Reason + ": " + why
		}
		fmt.Fprintf(&w, "  %s %-*s  %-*s  %s\n", signs[s.Effect], objects, s.Object, actions, s.Do, printable.Line(why, maxLine))
		for _, line := range slices.Concat(s.Writes, called(s.Calls)) {
			fmt.Fprintf(&w, "      %s\n", printable.Line(line, maxLine))
		}
	}
	r.summarize(&w)
	_, err := io.WriteString(out, w.String())
	return err
}

func called(calls []string) []string {
	var lines []string
	for _, call := range calls {
		lines = append(lines, "call "+call)
	}
	return lines
}

// summarize writes the last lines.
func (r *Report) summarize(w *strings.Builder) {
	effects := map[string]step.Effect{} // for each object, the effect that matters most
	order := []step.Effect{step.None, step.Wait, step.Update, step.Create, step.Delete}
	for _, s := range r.Steps {
		if before, ok := effects[s.Object]; !ok || slices.Index(order, s.Effect) > slices.Index(order, before) {
			effects[s.Object] = s.Effect
		}
	}
	change, wait, stay := map[string]int{}, map[string]int{}, map[string]int{}
	for object, effect := range effects {
		switch effect {
		case step.None:
			stay[kindOf(object)]++
		case step.Wait:
			wait[kindOf(object)]++
		case step.Create, step.Update, step.Delete:
			change[kindOf(object)]++
		}
	}
	fmt.Fprintf(w, "Would change: %s. Waiting: %s. Would stay: %s.\n", counted(change), counted(wait), counted(stay))
	for _, i := range r.Idle {
		fmt.Fprintf(w, "Not looked at: %s, because %s.\n", i.Controller, printable.Line(i.Why, maxLine))
	}
	for _, what := range r.Refused {
		fmt.Fprintf(w, "The provider tried this itself, and it was refused: %s\n", printable.Line(what, maxLine))
	}
}

// counted returns numbers with their kinds, such as "1 node, 2 services".
func counted(numbers map[string]int) string {
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(numbers)) {
		word := kind
		if n := numbers[kind]; n != 1 && !strings.HasSuffix(kind, "s") {
			word += "s"
		}
		all = append(all, fmt.Sprintf("%d %s", numbers[kind], word))
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}
