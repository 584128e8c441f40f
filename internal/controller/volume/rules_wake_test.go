package volume

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// changes are edits of a volume. Some of them change only fields that no rule reads.
var changes = map[string]func(*corev1.PersistentVolume){
	"Nothing":      func(*corev1.PersistentVolume) {},
	"UID":          replaced,
	"Deletion":     terminating,
	"Zone":         has(map[string]string{zone: "b"}),
	"FormerRegion": has(map[string]string{formerRegion: "r"}),
	"OtherLabel":   has(map[string]string{"app": "x"}),
	"Affinity":     bound(term(where(zone, corev1.NodeSelectorOpIn, "a"))),
	"Contradicted": bound(term(where(zone, corev1.NodeSelectorOpIn, "b"))),
	"Bound":        func(v *corev1.PersistentVolume) { v.Spec.ClaimRef = &corev1.ObjectReference{Name: "c"} },
	"Phase":        func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeBound },
	"Annotation":   func(v *corev1.PersistentVolume) { v.Annotations = map[string]string{"a": "b"} },
	"Version":      func(v *corev1.PersistentVolume) { v.ResourceVersion = "2" },
	"Finalizer":    func(v *corev1.PersistentVolume) { v.Finalizers = []string{"f"} },
	"Generation":   func(v *corev1.PersistentVolume) { v.Generation = 2 },
	"Deleting":     func(v *corev1.PersistentVolume) { v.DeletionTimestamp = &metav1.Time{Time: now.Add(1)} },
}

// After every change of a volume that changes the plan, a pass is due.
func TestWhateverChangesThePlanWakes(t *testing.T) {
	woken := 0
	for from, before := range changes {
		for to, after := range changes {
			one, two := volume(before), volume(after)
			if wakes(one, two) {
				woken++
				continue
			}
			for _, m := range []memory{{}, {uid: "u1", failures: 1, until: now.Add(1)}, {uid: "u1", written: now}} {
				for _, a := range []*answer{nil, in("a"), {uid: "u1", given: foreign}, {uid: "u1"}} {
					p := decide(observed{now: now, volume: one, memory: m, answer: a})
					q := decide(observed{now: now, volume: two, memory: m, answer: a})
					if diff := cmp.Diff(summaryOf(p), summaryOf(q)); diff != "" {
						t.Errorf("from %s to %s: no pass, but the plan changes (-before +after):\n%s", from, to, diff)
					}
				}
			}
		}
	}
	if woken == 0 || woken == len(changes)*len(changes) {
		t.Errorf("%d of all changes wake", woken)
	}
	if wakes(volume(), volume(changes["Bound"])) || !wakes(nil, volume()) {
		t.Error("a volume that is bound is woken, or a new one is not")
	}
}
