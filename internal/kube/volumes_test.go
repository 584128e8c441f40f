package kube

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestVolumePatch(t *testing.T) {
	z := "a"
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v", UID: "u", ResourceVersion: "1", Labels: map[string]string{"app": "x"}}}
	affinity := &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}},
	}}}}
	p := VolumePatch{Volume: v, Labels: map[string]*string{"zone": &z}, NodeAffinity: affinity}
	got, err := json.Marshal(p.operations())
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"op":"test","path":"/metadata/uid","value":"u"},{"op":"test","path":"/metadata/labels/zone","value":null},{"op":"test","path":"/spec/nodeAffinity","value":null},` +
		`{"op":"add","path":"/metadata/labels/zone","value":"a"},` +
		`{"op":"add","path":"/spec/nodeAffinity","value":{"required":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]}]}}}]`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	client := fake.NewClientset(v)
	volumes := NewVolumes(t.Context(), client, NewInformerFactory(client, 0, nil).Core().V1().PersistentVolumes()) // This informer is never started.
	if _, err := volumes.Cached("v"); !apierrors.IsNotFound(err) {
		t.Errorf("error %v, want not found", err)
	}
	if err := volumes.Patch(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	after, err := client.CoreV1().PersistentVolumes().Get(t.Context(), "v", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"app": "x", "zone": "a"}, after.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(affinity, after.Spec.NodeAffinity); diff != "" {
		t.Errorf("affinity (-want +got):\n%s", diff)
	}
	// The same patch is refused the second time. It was made for a volume without the
	// label and the affinity, and the volume now has both.
	if err := volumes.Patch(t.Context(), p); err == nil {
		t.Error("a label that has changed meanwhile is overwritten")
	}
}

func TestTrimmedVolume(t *testing.T) {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v", Labels: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}}}
	got, err := trim(nil)(v)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "v", Labels: map[string]string{"a": "b"}}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
