package skeleton

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// Difference is an object whose fate differs between the two daemons. Its JSON is
// part of the output of the sub-command "plan": fields may be added, and none is
// renamed.
type Difference struct {
	Object   string `json:"object"`
	Daemon   Fate   `json:"daemon"`
	Skeleton Fate   `json:"skeleton"`
}

// Fate is the result of all steps for an object.
type Fate struct {
	Effect step.Effect `json:"effect"`
	Do     string      `json:"do"`
	Reason string      `json:"reason,omitempty"`
	Why    string      `json:"why"`
}

// nothing is the action of a step that leaves its object as it is.
const nothing = "nothing"

// order lists the effects, the gravest last. Compare treats None and Wait as the same,
// because an object that waits stays as it is.
var order = []step.Effect{step.None, step.Wait, step.Update, step.Create, step.Delete}

// Compare returns the objects whose fates differ. Those that the skeleton deletes come
// first.
func Compare(daemon, skeleton []step.Step) []Difference {
	ours, theirs := Fates(daemon), Fates(skeleton)
	all := []Difference{}
	for _, object := range slices.Sorted(maps.Keys(union(ours, theirs))) {
		one, other := fateIn(ours, object), fateIn(theirs, object)
		if stays(one) && stays(other) || one.Effect == other.Effect {
			continue
		}
		all = append(all, Difference{object, one, other})
	}
	slices.SortStableFunc(all, func(a, b Difference) int {
		return cmp.Compare(slices.Index(order, b.Skeleton.Effect), slices.Index(order, a.Skeleton.Effect))
	})
	return all
}

// Fates returns the fate of each object. The fate is the gravest of the object's
// steps. If several steps are equally grave, the fate is the first of them that does
// something. A step that only records events does not change the object.
func Fates(steps []step.Step) map[string]Fate {
	fates := map[string]Fate{}
	for _, s := range steps {
		if s.Effect == step.Update && len(s.Writes) > 0 && len(s.Calls) == 0 && !slices.ContainsFunc(s.Writes, isChange) {
			s.Effect = step.None
		}
		before, ok := fates[s.Object]
		grave := slices.Index(order, s.Effect) - slices.Index(order, before.Effect)
		if !ok || grave > 0 || grave == 0 && before.Do == nothing {
			fates[s.Object] = Fate{s.Effect, s.Do, s.Reason, s.Why}
		}
	}
	return fates
}

func isChange(write string) bool { return !strings.HasPrefix(write, "event ") }

func union(a, b map[string]Fate) map[string]Fate {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func fateIn(all map[string]Fate, object string) Fate {
	if f, ok := all[object]; ok {
		return f
	}
	return Fate{Effect: step.None, Do: nothing, Why: "it is not looked at"}
}

func stays(f Fate) bool { return f.Effect == step.None || f.Effect == step.Wait }
