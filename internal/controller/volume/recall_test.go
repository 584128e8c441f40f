package volume

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

func TestRecall(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	wrote := memory{uid: "u-v", written: at}
	failed := memory{uid: "u-v", failures: 3, until: at, why: "It is asked again.", reason: reasonUnknown.Name}
	willAsk := step.Memory{Do: "ask the cloud", Reason: "VolumeTopologyUnknown", Text: "It is asked again.", Attempts: 3, NextLook: at}
	for name, row := range map[string]struct {
		m      memory
		labels map[string]string
		now    time.Time
		want   step.Memory
	}{
		"Nothing":  {memory{uid: "u-v"}, nil, at, step.Memory{}},
		"Labelled": {wrote, map[string]string{zone: "a"}, at, step.Memory{Said: "the place of the volume is known", SaidAt: at}},
		"SomebodyHasRemovedTheLabels": {wrote, nil, at.Add(time.Minute), step.Memory{
			Do: "ask the cloud", Text: "somebody has removed the labels, and it is too early to write them again", NextLook: at.Add(showing.PutBackAfter),
			Said: "the place of the volume is known", SaidAt: at,
		}},
		"LabelsMayBeWrittenAgain": {wrote, nil, at.Add(showing.PutBackAfter), step.Memory{Said: "the place of the volume is known", SaidAt: at}},
		"CloudDoesNotAnswer":      {failed, nil, at.Add(-time.Minute), willAsk},
		"CloudIsBeingAskedAgain":  {failed, nil, at, willAsk},
	} {
		t.Run(name, func(t *testing.T) {
			v := named("v", has(row.labels))
			if d := cmp.Diff(row.want, observed{now: row.now, volume: v, memory: row.m}.recall()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}

// Recall returns nothing for a volume that is gone. It also returns nothing for a new
// volume with the name of an earlier one.
func TestRecallOfVolumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := prepare(t, named("v1"), named("v2", has(map[string]string{zone: "a"})))
		b.answer(func(context.Context, *corev1.PersistentVolume) (map[string]string, error) {
			return nil, errors.New("the quota is used up")
		})
		b.start()
		defer func() { b.stop() }()
		time.Sleep(time.Minute)
		for name, want := range map[string]bool{"v1": true, "v2": false, "gone": false} {
			m, ok := b.running.Recall(name)
			if ok != want || ok && (m.Reason != reasonUnknown.Name || m.Attempts == 0 || m.Text == "") {
				t.Errorf("%s: %+v, remembered %v", name, m, ok)
			}
		}
		b.running.remember("v2", memory{uid: "another", failures: 3})
		if m, ok := b.running.Recall("v2"); ok {
			t.Errorf("a new volume of the same name: %+v", m)
		}
	})
}
