package nodelifecycle

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// endedBy returns the end of n1's machine, after its kubelet's last report.
func endedBy(by string) termination {
	return termination{providerID: "p://n1", at: noon.Add(-30 * time.Second), by: by}
}

func terminated() answer {
	return answer{presence: absent, asked: noon, terminated: endedBy("spot")}
}

// Only the end of this Node's machine, after the last report of its kubelet, is evidence.
func TestTermination(t *testing.T) {
	at := func(age time.Duration) termination { return termination{providerID: "p://n1", at: noon.Add(-age)} }
	young := old("n1", neverReported(time.Minute))
	for _, tt := range []struct {
		name string
		node *corev1.Node
		said termination
		want string // why it proves nothing
	}{
		{"AfterTheLastReport", n1, at(59 * time.Second), ""},
		{"Now", n1, at(0), ""},
		{"NothingIsKnown", n1, termination{}, "the cloud does not list the instance as terminated"},
		{"AnotherMachine", n1, termination{providerID: "p://n2", at: noon}, "the instance that was terminated has another provider ID"},
		{"MachineWithoutID", n1, termination{at: noon}, "the instance that was terminated has another provider ID"},
		{"NodeWithoutProviderID", old("n1", providerID("")), termination{at: noon}, "the instance that was terminated has another provider ID"},
		{"NoTime", n1, termination{providerID: "p://n1"}, "the time of the termination is not in the past"},
		{"InTheFuture", n1, at(-time.Second), "the time of the termination is not in the past"},
		{"ReportAtTheSameTime", n1, at(time.Minute), "the kubelet has reported since the instance was terminated"},
		{"ReportAfterIt", n1, at(2 * time.Minute), "the kubelet has reported since the instance was terminated"},
		{"MachineOfAnEarlierNode", young, at(time.Hour), "the instance was terminated before the Node was created"},
		{"NodeCreatedAtTheSameTime", young, at(time.Minute), "the instance was terminated before the Node was created"},
		{"NodeThatHasNeverReported", young, at(59 * time.Second), ""},
	} {
		if proven, why := tt.said.isOf(tt.node, noon); why != tt.want || proven != (tt.want == "") {
			t.Errorf("%s: proven = %v, %q, want %q", tt.name, proven, why, tt.want)
		}
	}
}

// Positive evidence needs one answer, no witness and no budget, but the final check.
func TestPositiveEvidence(t *testing.T) {
	const (
		goes  = "enqueue for the final check: the absence is confirmed; again in 15s"
		goner = "delete: the cloud says that the instance was terminated at 2026-11-21 11:59:30 UTC (spot)"
	)
	ended := gone(n1, 1, 0, 0)
	ended.evidence.terminated = endedBy("")
	contradicted := peersOf(witness("w1", absent, 0))
	checkRows(t, []row{
		{name: "OneAnswerIsEnough", answer: terminated(), want: goes},
		{name: "NoBudget", answer: terminated(), peers: absentOf(40, 80), want: goes},
		{name: "YoungAndUninitialisedNode", node: old("n1", taint(api.TaintExternalCloudProvider)), answer: terminated(), want: "enqueue for the final check: the absence is confirmed; again in 1m0s"},
		{name: "NoContradiction", answer: terminated(), memory: gone(n1, 3, time.Minute, 15*time.Second), peers: contradicted, want: "enqueue for the final check: the absence is confirmed; again in 2m0s"},
		{name: "NotIfDeletionIsOff", answer: terminated(), limits: func(l *Limits) { l.Off = true }, want: "hold: DeletionDisabled; again in 15s; event NodeDeletionHeld"},
		{name: "NotAfterAReport", node: old("n1", ready(corev1.ConditionUnknown, 0)), memory: begun(ended, n1, noon.Add(-time.Minute)), want: "ask the cloud: the kubelet is silent: Ready is Unknown"},
		{name: "NotWhileTheKubeletReports", node: old("n1", reports), memory: ended, want: "nothing: the kubelet is not silent: it reports"},
		{name: "NotIfTheInstanceIsPresent", answer: said(present), memory: ended, want: "nothing: the cloud says that the instance exists; again in 5s"},
		{name: "NotIfTheNextAnswerHasNoTermination", answer: said(absent), memory: ended, want: "hold: AbsenceUnconfirmed; again in 15s; event NodeDeletionHeld"},
		{name: "NotWhileTheLastQuestionHasFailed", answer: fails("CloudDenied"), memory: ended, want: "hold: CloudDenied; again in 30s; event NodeDeletionHeld"},
		{
			name: "NotByAQuestionFromBeforeTheSilence", answer: func() answer {
				a := terminated()
				a.asked = noon.Add(-5 * time.Minute)
				return a
			}(), memory: begun(memory{}, n1, noon.Add(-time.Minute)), want: "hold: CloudSlow; again in 5s; event NodeDeletionHeld",
		},
		{name: "FinalCheckAsks", memory: ended, check: &check{}, want: "ask the cloud: the kubelet is silent: Ready is Unknown"},
		{name: "FinalCheckDeletes", answer: terminated(), memory: ended, check: asked, peers: contradicted, want: goner},
		{name: "FinalCheckNeedsTheTerminationAgain", answer: said(absent), memory: ended, check: asked, peers: trusted, want: "hold: AbsenceUnconfirmed; again in 15s; event NodeDeletionHeld"},
		{name: "FinalCheckHoldsIfDeletionIsOff", answer: terminated(), memory: ended, check: asked, limits: func(l *Limits) { l.Off = true }, want: "hold: DeletionDisabled; again in 15s; event NodeDeletionHeld"},
		{name: "TerminatorIsNotNamedIfItIsNotKnown", answer: func() answer {
			a := terminated()
			a.terminated.by = ""
			return a
		}(), check: asked, want: "delete: the cloud says that the instance was terminated at 2026-11-21 11:59:30 UTC"},
	})
}

// Terminated machines explain why their Nodes are absent, so those do not count for others.
func TestTerminatedNodesDoNotCountTowardsTheBudget(t *testing.T) {
	s := newSnapshot(DefaultLimits(), ownership.Claim{}, noon)
	for n := range 5 {
		e := evidence{presence: absent, checkedAt: noon}
		if n > 0 {
			e.terminated = endedBy("")
		}
		s.add(old(fmt.Sprint("m", n)), e, newLedger())
	}
	if got := s.absentees(n1, noon); got != (absentees{absent: 1, nodes: 5}) {
		t.Errorf("%+v, want one of five", got)
	}
}
