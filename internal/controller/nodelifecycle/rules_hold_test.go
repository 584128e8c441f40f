package nodelifecycle

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"
)

// says adds the condition of the rules of removal to a Node.
func says(status corev1.ConditionStatus, reason string, written time.Duration) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: ConditionMissing, Status: status, Reason: reason,
			LastHeartbeatTime: metav1.NewTime(noon.Add(-written)), LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour)),
		})
	}
}

func TestHoldIsVisible(t *testing.T) {
	for _, tt := range []struct {
		name      string
		node      *corev1.Node
		answer    existence
		holding   holding
		events    string
		condition string
	}{
		{name: "FirstReasonIsAnEvent", events: "NodeDeletionHeld"},
		{name: "SameReasonIsNotRepeated", holding: holding{since: noon, reason: "NoWitness"}},
		{name: "AnotherReasonIsAnEvent", holding: holding{since: noon, reason: "TooManyAbsent"}, events: "NodeDeletionHeld"},
		{
			name: "ReasonThatComesBackIsNotRepeatedAtOnce", holding: holding{since: noon, reason: "TooManyAbsent", told: map[string]time.Time{"NoWitness": noon.Add(-9 * time.Minute)}},
		},
		{
			name: "LaterItIs", holding: holding{since: noon, reason: "TooManyAbsent", told: map[string]time.Time{"NoWitness": noon.Add(-10 * time.Minute)}},
			events: "NodeDeletionHeld",
		},
		{name: "AfterAMinuteItStaysOnTheNode", holding: holding{since: noon.Add(-time.Minute), reason: "NoWitness"}, condition: "True NoWitness"},
		{
			name: "WhatCannotBeAskedIsUnknown", answer: fails("CloudDenied"), holding: holding{since: noon.Add(-time.Minute), reason: "CloudDenied"},
			condition: "Unknown CloudDenied",
		},
		{
			name: "NewLeaderDoesNotRepeatWhatTheNodeShows", node: old("n1", says(corev1.ConditionTrue, "NoWitness", time.Minute)),
		},
		{
			name: "NewLeaderTellsAnotherReason", node: old("n1", says(corev1.ConditionTrue, "TooManyAbsent", time.Minute)),
			events: "NodeDeletionHeld", condition: "True NoWitness",
		},
		{
			name: "ConditionDoesNotFlap", node: old("n1", says(corev1.ConditionTrue, "TooManyAbsent", 59*time.Second)), holding: holding{since: noon, reason: "NoWitness"},
		},
		{
			name: "OldConditionMustNotGoOnTellingSomethingElse", node: old("n1", says(corev1.ConditionFalse, "InstanceFound", time.Hour)),
			holding: holding{since: noon.Add(-time.Minute), reason: "NoWitness"}, condition: "True NoWitness",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := tt.node
			if node == nil {
				node = n1
			}
			memory := complete
			if tt.answer.presence == unknown && !tt.answer.asked.IsZero() {
				memory = removalMemory{}
			}
			memory.holding = tt.holding
			p := decideRemoval(candidate{now: noon, node: node, answer: tt.answer, memory: memory, roster: rosterOf(), lastLook: lastNow, limits: usual})
			compareShown(t, p, tt.events, tt.condition)
		})
	}
}

// compareShown compares what an owner of the Node sees.
func compareShown(t *testing.T, p removalPlan, events, condition string) {
	t.Helper()
	gotEvents, gotCondition := strings.Join(removalOf(p).Events, " "), ""
	if p.condition != nil {
		gotCondition = string(p.condition.Status) + " " + p.condition.Reason
	}
	if gotEvents != events || gotCondition != condition {
		t.Errorf("got event %q and condition %q, want %q and %q", gotEvents, gotCondition, events, condition)
	}
}

func TestHoldIsOver(t *testing.T) {
	shown := says(corev1.ConditionTrue, "NoWitness", time.Minute)
	for _, tt := range []struct {
		name      string
		node      *corev1.Node
		answer    existence
		open      bool
		events    string
		condition string
	}{
		{name: "NothingWasSaid", node: n1, answer: said(present)},
		{name: "AnEventWasRecorded", node: n1, answer: said(present), open: true, events: "NodeDeletionCanceled"},
		{name: "FoundAgain", node: old("n1", shown), answer: said(present), open: true, events: "NodeDeletionCanceled", condition: "False InstanceFound"},
		{name: "KubeletSpeaksAgain", node: old("n1", reports, shown), open: true, events: "NodeDeletionCanceled", condition: "False KubeletReports"},
		{name: "WhatAnEarlierLeaderSaid", node: old("n1", reports, shown), events: "NodeDeletionCanceled", condition: "False KubeletReports"},
		{name: "OnlyOnce", node: old("n1", reports, says(corev1.ConditionFalse, "KubeletReports", time.Minute))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			memory := complete
			memory.holding = holding{reason: "NoWitness", open: tt.open}
			p := decideRemoval(candidate{now: noon, node: tt.node, answer: tt.answer, memory: memory, roster: rosterOf(), limits: usual})
			compareShown(t, p, tt.events, tt.condition)
		})
	}
}

func TestShutdownTaint(t *testing.T) {
	down := corev1.Taint{Key: api.TaintNodeShutdown, Effect: corev1.TaintEffectNoSchedule}
	stops := existence{presence: present, asked: noon, power: shutDown}
	runs := existence{presence: present, asked: noon, power: running}
	tainted := func(edits ...func(*corev1.Node)) *corev1.Node {
		return old("n1", append(edits, taint("other"), taint(api.TaintNodeShutdown))...)
	}
	other := corev1.Taint{Key: "other", Effect: corev1.TaintEffectNoSchedule}
	found := func(taints ...corev1.Taint) removal {
		return removal{Do: leave, Why: exists, After: 5 * time.Second, Taints: taints}
	}
	checkRemoval(t, []removalRow{
		{name: "TaintGoesOn", node: old("n1", taint("other")), answer: stops, want: found(other, down)},
		{name: "AndIsNotWrittenAgain", node: tainted(), answer: stops, want: found()},
		{name: "TaintGoesOffWhenTheInstanceRunsAgain", node: tainted(), answer: runs, want: found(other)},
		{name: "InstanceThatRunsNeedsNoWrite", answer: runs, want: found()},
		{name: "NobodyKnows", node: tainted(), answer: said(present), want: found()},
		{name: "AbsentSaysNothingAboutPower", node: tainted(), answer: said(absent), want: removal{
			Do: hold, Why: "AbsenceUnconfirmed", After: 15 * time.Second, Events: []string{"NodeDeletionHeld"},
		}},
		{name: "TaintGoesOffWhenTheKubeletReports", node: tainted(reports), want: removal{Do: leave, Why: leaves + "it reports", Taints: []corev1.Taint{other}}},
		{
			name: "OrSpeaksAtAll", node: tainted(ready(corev1.ConditionFalse, 0)),
			want: removal{Do: leave, Why: leaves + "its last report is fresh", After: 6 * time.Minute, Taints: []corev1.Taint{other}},
		},
		{
			name: "TaintOfAnotherEffectIsNotOurs", node: old("n1", func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: api.TaintNodeShutdown, Effect: corev1.TaintEffectNoExecute}}
			}), answer: runs, want: found(),
		},
	})
}
