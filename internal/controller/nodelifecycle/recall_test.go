package nodelifecycle

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

func TestRecall(t *testing.T) {
	n := old("n")
	first := decideSuspicion(observed{now: noon, node: n, answer: said(absent), limits: DefaultLimits()})
	later := observed{now: noon.Add(time.Second), node: n, memory: first.memory, limits: DefaultLimits()}
	want := step.Memory{
		Do: "hold", Reason: "AbsenceUnconfirmed", Text: first.why, Since: noon,
		Said: "the instance does not exist", SaidAt: noon, NextLook: noon.Add(first.after),
		Evidence: &step.Evidence{Absences: 1, Of: 3, Since: noon, For: later.limits.absentFor(n, later.now).String()},
	}
	if d := cmp.Diff(want, later.recall()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}

	later.limits.Off, later.memory.evidence.terminated = true, termination{"p://n", noon.Add(-time.Minute), "spot"}
	if got := later.recall().Said; got != "the cloud says that the instance was terminated at 2026-11-21 11:59:00 UTC (spot)" {
		t.Errorf("of a terminated instance: %q", got)
	}
	later.limits.Off, later.memory = false, first.memory

	later.now = noon.Add(time.Hour)
	if got := later.recall(); got.Do != "ask the cloud" || got.Reason != "AbsenceUnconfirmed" || got.Text != "" {
		t.Errorf("when the next question is due: %+v", got)
	}

	failed := decideSuspicion(observed{now: noon, node: n, answer: fails("CloudDenied"), limits: DefaultLimits()})
	if got := (observed{now: noon.Add(time.Second), node: n, memory: failed.memory, limits: DefaultLimits()}).recall(); got.Evidence != nil || got.Said == "" || got.Reason == "" {
		t.Errorf("after a failure: %+v", got)
	}

	found := decideSuspicion(observed{now: noon, node: n, answer: said(present), limits: DefaultLimits()})
	if got := (observed{now: noon.Add(time.Second), node: n, memory: found.memory, limits: DefaultLimits()}).recall(); got.Said != "the instance exists" || got.Reason != "" {
		t.Errorf("after the instance was found: %+v", got)
	}
}
