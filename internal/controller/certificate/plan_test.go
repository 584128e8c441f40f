package certificate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// A step says what a plan writes, and why.
func TestStepOfAPlan(t *testing.T) {
	n := &corev1.Node{}
	n.Name = "n"
	cause := message.Cause{Reason: "R"}
	for _, tt := range []struct {
		name string
		p    plan
		want step.Step
	}{
		{"ApprovedRequest", plan{do: approve, why: "w", cause: cause}, step.Step{Effect: step.Update, Do: string(approve), Reason: "R", Why: "w", Writes: []string{"condition Approved=True (R)"}}},
		{"DeniedRequestTellsTheNode", plan{do: deny, why: "w", cause: cause, events: []recorded{{n, message.Event{Type: "Warning", Reason: "E"}}}}, step.Step{
			Effect: step.Update, Do: string(deny), Reason: "R", Why: "w", Writes: []string{"condition Denied=True (R)", "event Warning E on node/n"},
		}},
		{"WaitingRequest", plan{do: wait, why: "w", cause: cause}, step.Step{Effect: step.Wait, Do: string(wait), Reason: "R", Why: "w"}},
		{"RequestOfOthers", plan{do: doNothing, why: "w"}, step.Step{Effect: step.None, Do: string(doNothing), Why: "w"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Object = "request/r"
			if diff := cmp.Diff(tt.want, tt.p.step("r")); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
		})
	}
}
