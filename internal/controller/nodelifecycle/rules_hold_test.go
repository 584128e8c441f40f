package nodelifecycle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

func TestHoldIsVisible(t *testing.T) {
	for _, tt := range []struct {
		name      string
		node      *corev1.Node
		answer    answer
		holding   holding
		events    string
		condition string
	}{
		{name: "FirstReasonIsAnEvent", events: "NodeDeletionHeld"},
		{name: "SameReasonIsNotRepeated", holding: holding{since: noon, reason: "NoWitness"}},
		{name: "AnotherReasonIsAnEvent", holding: holding{since: noon, reason: "TooManyAbsent"}, events: "NodeDeletionHeld"},
		{
			name: "ReasonThatComesBackIsNotRepeatedAtOnce", holding: holding{since: noon, reason: "TooManyAbsent", recorded: showing.News{"NoWitness": noon.Add(-29 * time.Minute)}},
		},
		{
			name: "ReasonThatComesBackLaterIsRepeated", holding: holding{since: noon, reason: "TooManyAbsent", recorded: showing.News{"NoWitness": noon.Add(-showing.RepeatAfter)}},
			events: "NodeDeletionHeld",
		},
		{name: "ConditionIsWrittenAfterAMinute", holding: holding{since: noon.Add(-time.Minute), reason: "NoWitness"}, condition: "True NoWitness"},
		{
			name: "UnansweredQuestionShowsUnknown", answer: fails("CloudDenied"), holding: holding{since: noon.Add(-time.Minute), reason: "CloudDenied"},
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
			name: "OldConditionIsCorrected", node: old("n1", says(corev1.ConditionFalse, "InstanceFound", time.Hour)),
			holding: holding{since: noon.Add(-time.Minute), reason: "NoWitness"}, condition: "True NoWitness",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := tt.node
			if node == nil {
				node = n1
			}
			remembered := complete
			if tt.answer.presence == unknown && !tt.answer.asked.IsZero() {
				remembered = memory{}
			}
			remembered.holding = tt.holding
			p := decideDeletion(observed{now: noon, node: node, answer: tt.answer, memory: remembered, limits: DefaultLimits()}, *asked)
			compareShown(t, p, tt.events, tt.condition)
		})
	}
}

func TestHoldIsOver(t *testing.T) {
	shown := says(corev1.ConditionTrue, "NoWitness", time.Minute)
	for _, tt := range []struct {
		name      string
		node      *corev1.Node
		answer    answer
		open      bool
		events    string
		condition string
	}{
		{name: "NothingWasSaid", node: n1, answer: said(present)},
		{name: "AnEventWasRecorded", node: n1, answer: said(present), open: true, events: "NodeDeletionCanceled"},
		{name: "FoundAgain", node: old("n1", shown), answer: said(present), open: true, events: "NodeDeletionCanceled", condition: "False InstanceFound"},
		{name: "KubeletReportsAgain", node: old("n1", reports, shown), open: true, events: "NodeDeletionCanceled", condition: "False KubeletReports"},
		{name: "ConditionOfAnEarlierLeaderIsEnded", node: old("n1", reports, shown), events: "NodeDeletionCanceled", condition: "False KubeletReports"},
		{name: "EndIsReportedOnce", node: old("n1", reports, says(corev1.ConditionFalse, "KubeletReports", time.Minute))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			remembered := complete
			remembered.holding = holding{reason: "NoWitness", open: tt.open}
			p := decideSuspicion(observed{now: noon, node: tt.node, answer: tt.answer, memory: remembered, limits: DefaultLimits()})
			compareShown(t, p, tt.events, tt.condition)
		})
	}
}

// compareShown checks the events and the condition that a plan shows to the owner of
// the Node.
func compareShown(t *testing.T, p plan, events, condition string) {
	t.Helper()
	gotEvents, gotCondition := strings.Join(reasonsOf(p), " "), ""
	if p.condition != nil {
		gotCondition = string(p.condition.Status) + " " + p.condition.Reason
	}
	if gotEvents != events || gotCondition != condition {
		t.Errorf("got event %q and condition %q, want %q and %q", gotEvents, gotCondition, events, condition)
	}
}

// If another client changes a condition, this process puts it back. It waits until 5
// minutes have passed since it last wrote the condition.
func TestContestedConditionIsPutBackLater(t *testing.T) {
	for _, tt := range []struct {
		name      string
		wrote     time.Duration // how long ago
		after     time.Duration // the delay of the plan that is passed to stays
		want      time.Duration
		condition string
	}{
		{"JustWritten", time.Minute, time.Hour, 4 * time.Minute, ""},
		{"NothingElseIsDue", time.Minute, 0, 4 * time.Minute, ""},
		{"SomethingElseIsDueBefore", time.Minute, time.Second, time.Second, ""},
		{"WrittenLongAgo", 5 * time.Minute, time.Hour, time.Hour, "False"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := observed{now: noon, node: old("n1", says(corev1.ConditionTrue, "NoWitness", time.Second)), limits: DefaultLimits()}
			o.memory.holding = holding{wrote: corev1.ConditionFalse, wroteAt: noon.Add(-tt.wrote)}
			p := stays(o, plan{do: doNothing, after: tt.after}, message.Cause{})
			var condition string
			if p.condition != nil {
				condition = string(p.condition.Status)
			}
			if p.after != tt.want || condition != tt.condition {
				t.Errorf("after %v, condition %q, want %v and %q", p.after, condition, tt.want, tt.condition)
			}
		})
	}
}

// A held Node says when its deletion goes on, if that is known. The time does not change
// from pass to pass.
func TestHeldNodeSaysWhenItsDeletionGoesOn(t *testing.T) {
	const at = "If nothing changes, the deletion goes on at 2026-11-21 %s UTC at the latest."
	withoutWitness := func(l *Limits) { l.WithoutWitnessAfter = time.Hour }
	for _, tt := range []struct {
		name   string
		memory memory
		peers  cluster
		check  *check
		limits func(*Limits)
		want   string // the time; empty if it is not known
	}{
		{name: "AbsenceIsUnconfirmed", memory: gone(n1, 2, 10*time.Second, 0), want: "12:00:20"},
		{name: "OverTheBudget", memory: complete, peers: absentOf(4, 10), want: "12:09:20"},
		{name: "Contradiction", memory: complete, peers: peersOf(deniedFor(witness("w1", absent, 4*time.Second), time.Minute)), want: "12:09:00"},
		{name: "ManyContradictions", memory: complete, peers: peersOf(rogue("r1"), rogue("r2"))},
		{name: "WithoutWitness", memory: complete, peers: peersOf(), check: asked, limits: withoutWitness, want: "12:59:20"},
		{name: "WithoutWitnessForEver", memory: complete, peers: peersOf(), check: asked},
		{name: "TooFewWitnesses", memory: complete, peers: peersOf(witness("w1", unknown, 0)), check: asked},
	} {
		t.Run(tt.name, func(t *testing.T) {
			limits := DefaultLimits()
			if tt.limits != nil {
				tt.limits(&limits)
			}
			p := decideRow(tt.peers.seenBy(observed{now: noon, node: n1, memory: tt.memory, limits: limits}, tt.check != nil), tt.check)
			said := strings.Contains(p.why, "goes on at")
			if p.do != hold || said != (tt.want != "") || said && !strings.HasSuffix(p.why, fmt.Sprintf(at, tt.want)) {
				t.Errorf("%s: %q, want the time %q", p.do, p.why, tt.want)
			}
		})
	}
}
