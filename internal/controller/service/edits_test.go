package service

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
)

// usedUp returns the allowance of a Service that was edited this many times ten seconds
// ago.
func usedUp(edits int) (a allowance.Allowance) {
	for range edits {
		a = a.Used(editLimit, noon.Add(-10*time.Second))
	}
	return a
}

func TestEdits(t *testing.T) {
	old := shapeOf(balanced())
	failing := memory{uid: "u1", shape: "older", failure: failure{during: ensure, shape: "older", attempts: 9, until: noon.Add(time.Hour)}}
	working := memory{uid: "u1", shape: old, backends: "set"}
	for _, tt := range []struct {
		name    string
		service *corev1.Service
		memory  memory
		edits   edits
		do      action
		after   time.Duration
		events  int
	}{
		{name: "FirstVersionDoesNotWait", service: balanced(finalized), do: ensure},
		{name: "FirstEditDoesNotWait", service: balanced(finalized, edited), memory: working, edits: edits{uid: "u1", shape: old}, do: ensure},
		{name: "SomeEditsDoNotWait", service: balanced(finalized, edited), memory: working, edits: edits{uid: "u1", shape: old, used: usedUp(4)}, do: ensure},
		{
			name: "EditsInOneGoAreOneCall", service: balanced(finalized, edited), memory: working,
			edits: edits{uid: "u1", shape: old, used: allowance.Allowance{}.Used(editLimit, noon.Add(-time.Second))}, do: wait, after: 4 * time.Second,
		},
		{name: "ManyEditsWait", service: balanced(finalized, edited), memory: working, edits: edits{uid: "u1", shape: old, used: usedUp(5)}, do: wait, after: 110 * time.Second, events: 1},
		{
			name: "WaitIsNotShownAgainWithinTheMinute", service: balanced(finalized, edited), memory: working,
			edits: edits{uid: "u1", shape: old, used: usedUp(5), shownAt: noon.Add(-time.Second)}, do: wait, after: 110 * time.Second,
		},
		{
			name: "EventIsNotRepeatedForHalfAnHour", service: balanced(finalized, edited), memory: working,
			edits: edits{uid: "u1", shape: old, used: usedUp(5), shownAt: noon.Add(-2 * time.Minute), recordedAt: noon.Add(-2 * time.Minute)}, do: wait, after: 110 * time.Second,
		},
		{name: "EditOfAServiceThatFailsDoesNotWait", service: balanced(finalized, edited), memory: failing, edits: edits{uid: "u1", shape: "older"}, do: ensure},
		{name: "ManyEditsOfAServiceThatFailsWait", service: balanced(finalized, edited), memory: failing, edits: edits{uid: "u1", shape: "older", used: usedUp(5)}, do: wait, after: 110 * time.Second, events: 1},
		{name: "RetryDoesNotCountAsAnEdit", service: balanced(finalized, edited), edits: edits{uid: "u1", shape: shapeOf(balanced(edited)), used: usedUp(5)}, do: ensure},
		{name: "ManyChangesOfTheTypeWaitWithoutAFinalizer", service: balanced(), edits: edits{uid: "u1", shape: removal, used: usedUp(5)}, do: wait, after: 110 * time.Second, events: 1},
		{name: "NextServiceOfTheNameDoesNotWait", service: balanced(finalized, replaced), edits: edits{uid: "u1", shape: old, used: usedUp(5)}, do: ensure},
		{name: "SomeRemovalsOfNothingDoNotWait", service: balanced(finalized, internal), edits: edits{uid: "u1", shape: removal, used: usedUp(4)}, do: remove},
		{name: "ManyRemovalsOfNothingWait", service: balanced(finalized, internal), edits: edits{uid: "u1", shape: removal, used: usedUp(5)}, do: wait, after: 110 * time.Second, events: 1},
		{name: "RemovalOfALoadBalancerDoesNotWait", service: balanced(finalized, internal), memory: working, edits: edits{uid: "u1", shape: old, used: usedUp(5)}, do: remove},
		{
			name: "RemovalThatHasFailedIsTriedAgain", service: balanced(finalized, internal), memory: memory{uid: "u1", failure: failure{during: remove, shape: shapeFor(balanced(internal)), attempts: 1}},
			edits: edits{uid: "u1", shape: removal, used: usedUp(5)}, do: remove,
		},
		{name: "DeletionAfterManyRemovalsDoesNotWait", service: balanced(finalized, internal, terminating), edits: edits{uid: "u1", shape: removal, used: usedUp(5)}, do: remove},
		{name: "DeletionDoesNotWait", service: balanced(finalized, edited, terminating), memory: working, edits: edits{uid: "u1", shape: old, used: usedUp(5)}, do: remove},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.memory.edits = tt.edits
			p := decide(observed{now: noon, service: tt.service, memory: tt.memory, policy: policy, backends: "set", hosts: 1})
			events := len(p.writes.events)
			if p.do == ensure || p.do == remove {
				events = 0 // events that announce the call do not count
			}
			if p.do != tt.do || p.after != tt.after || events != tt.events {
				t.Errorf("%v after %v with %d events (%s), want %v after %v with %d", p.do, p.after, events, p.why, tt.do, tt.after, tt.events)
			}
		})
	}
}
