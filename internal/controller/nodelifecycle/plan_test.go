package nodelifecycle

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// A step lists what its plan writes, and gives the reason of the plan.
func TestStepOfAPlan(t *testing.T) {
	n := old("n")
	held := decideSuspicion(observed{now: noon, node: n, answer: said(absent), limits: DefaultLimits()})
	if held.do != hold {
		t.Fatalf("the plan for a Node that the cloud has called absent once: %+v", held)
	}
	for _, tt := range []struct {
		name string
		p    plan
		want step.Step
	}{
		{"HoldNamesTheReason", held, step.Step{
			Effect: step.Wait, Do: "hold", Reason: "AbsenceUnconfirmed", Why: held.why, Writes: []string{"event Normal NodeDeletionHeld"}, After: held.after,
		}},
		{"DeletionIsTheWrite", plan{do: remove, why: "w"}, step.Step{Effect: step.Delete, Do: "delete", Why: "w", Writes: []string{"the Node is deleted"}}},
		{"TaintIsAnUpdate", plan{do: doNothing, why: "w", taints: &[]corev1.Taint{ownTaint()}}, step.Step{
			Effect: step.Update, Do: "nothing", Why: "w", Writes: []string{"taint node.cloudprovider.kubernetes.io/shutdown:NoSchedule added"},
		}},
		{"ConditionIsAnUpdate", plan{do: doNothing, why: "w", condition: &corev1.NodeCondition{Type: ConditionMissing, Status: corev1.ConditionFalse, Reason: "InstanceFound"}}, step.Step{
			Effect: step.Update, Do: "nothing", Why: "w", Writes: []string{"condition CloudInstanceMissing=False (InstanceFound)"},
		}},
		{"NodeThatReportsStays", plan{do: doNothing, why: "w", after: time.Minute}, step.Step{Effect: step.None, Do: "nothing", Why: "w", After: time.Minute}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Object = "node/n"
			if diff := cmp.Diff(tt.want, tt.p.step(observed{node: n})); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
		})
	}
}

// The evidence grows with each plan. An event of the first plan is planned again,
// because that plan was not carried out.
func TestMemoryOfAPlanThatWasNotCarriedOut(t *testing.T) {
	o := observed{now: noon, node: old("n"), answer: said(absent), limits: DefaultLimits()}
	first := decideSuspicion(o)
	o.memory, o.now, o.answer = first.memory.untold(), noon.Add(time.Minute), answer{presence: absent, asked: noon.Add(time.Minute)}
	second := decideSuspicion(o)
	if got := second.memory.evidence.absences; got != 2 {
		t.Errorf("%d absences, want 2", got)
	}
	for n, s := range []step.Step{first.step(o), second.step(o)} {
		if !slices.Contains(s.Writes, "event Normal NodeDeletionHeld") {
			t.Errorf("look %d writes %q", n, s.Writes)
		}
	}
	if second.condition == nil {
		t.Error("the deletion has waited for a minute, and no condition says so")
	}
}
