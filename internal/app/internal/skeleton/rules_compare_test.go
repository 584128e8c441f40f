package skeleton

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// Compare finds a difference only if the fate of an object differs. The number and
// the words of the steps do not matter.
func TestCompare(t *testing.T) {
	is := func(object string, effect step.Effect, writes ...string) step.Step {
		return step.Step{Object: object, Effect: effect, Do: string(effect), Why: "w", Writes: writes}
	}
	for _, tt := range []struct {
		name             string
		daemon, skeleton []step.Step
		want             []string
	}{
		{"HeldHereAndDeletedThere", []step.Step{is("node/n", step.Wait)}, []step.Step{is("node/n", step.Delete)}, []string{"node/n wait delete"}},
		{"DeletedByBoth", []step.Step{is("node/n", step.Delete)}, []step.Step{is("node/n", step.Delete)}, nil},
		{"ToWaitIsToStay", []step.Step{is("node/n", step.Wait)}, []step.Step{is("node/n", step.None)}, nil},
		{"TheGravestStepCounts", []step.Step{is("node/n", step.None), is("node/n", step.Update)}, []step.Step{is("node/n", step.Update), is("node/n", step.None)}, nil},
		{"EventsAloneAreNoChange", []step.Step{is("node/n", step.Update, "event Normal Synced")}, nil, nil},
		{"LabelsAreAChange", []step.Step{is("node/n", step.Update, "label a: \"b\"", "event Normal Synced")}, nil, []string{"node/n update none"}},
		{"DeletionsOfTheSkeletonComeFirst", []step.Step{is("a", step.Update), is("c", step.Delete)}, []step.Step{is("b", step.Delete), is("a", step.None)}, []string{
			"b none delete", "a update none", "c delete none",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, d := range Compare(tt.daemon, tt.skeleton) {
				got = append(got, d.Object+" "+string(d.Daemon.Effect)+" "+string(d.Skeleton.Effect))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFates(t *testing.T) {
	waits := func(do string) step.Step { return step.Step{Object: "node/n", Effect: step.Wait, Do: do, Why: do} }
	for _, steps := range [][]step.Step{{waits(nothing), waits("hold")}, {waits("hold"), waits(nothing)}} {
		if got := Fates(steps)["node/n"]; got.Do != "hold" {
			t.Errorf("%v: got %s, want hold", steps, got.Do)
		}
	}
}
