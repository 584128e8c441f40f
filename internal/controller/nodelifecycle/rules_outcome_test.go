package nodelifecycle

import (
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

func TestOutcome(t *testing.T) {
	const heldAgain = "hold: DeleteFailed; again in 1m0s; event "
	for _, tt := range []struct {
		name    string
		outcome outcome
		holding holding
		want    string
		counts  bool
	}{
		{name: "DeletedNodeHasUpstreamsEvent", outcome: deleted, want: "delete: because; event DeletingNode", counts: true},
		{name: "NodeThatIsGoneIsLeft", outcome: missing, want: "nothing: the Node is gone already"},
		{name: "RejectionHasUpstreamsEvent", outcome: rejected, want: heldAgain + "DeletingNodeFailed"},
		{name: "LostReplyHasUpstreamsEvent", outcome: unclear, want: heldAgain + "DeletingNodeFailed", counts: true},
		{name: "ConflictIsOnlyHeld", outcome: changed, want: heldAgain + "NodeDeletionHeld"},
		{
			name: "RejectionIsReportedOnce", outcome: rejected, holding: holding{since: noon, reason: "DeleteFailed"},
			want: "hold: DeleteFailed; again in 1m0s",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := plan{do: remove, why: "because", memory: complete}
			p.memory.holding = tt.holding
			r := result{outcome: tt.outcome, cause: deleteFailed.Cause("no rule"), event: deletingNodeFailed.Event("no rule")}
			got := concluded(observed{now: noon, node: n1, limits: DefaultLimits()}, p, r)
			if digest(got) != tt.want {
				t.Errorf("plan %q, want %q", digest(got), tt.want)
			}
			if got := r.outcome.counts(); got != tt.counts {
				t.Errorf("counts = %v, want %v", got, tt.counts)
			}
			if isDeleted := got.memory.deleted == n1.UID; isDeleted != (tt.outcome == deleted) {
				t.Errorf("remembered as deleted: %v", isDeleted)
			}
			if isLater := got.memory.nextCheck.After(noon); isLater != (got.do == hold) {
				t.Errorf("the next final check is at %v", got.memory.nextCheck)
			}
		})
	}
}

func TestFailedDeletionKeepsWhatWasFound(t *testing.T) {
	p := plan{do: remove, memory: gone(n1, 5, time.Minute, 0), events: []message.Event{deletionResumed("NoWitness", "because")}}
	got := concluded(observed{now: noon, node: n1, limits: DefaultLimits()}, p, result{outcome: rejected, cause: deleteFailed.Cause("no rule")})
	if got.memory.evidence != p.memory.evidence {
		t.Errorf("evidence %+v, want %+v", got.memory.evidence, p.memory.evidence)
	}
}
