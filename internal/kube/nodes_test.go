package kube

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestNodePatchCarriesOnlyWhatWasDecided(t *testing.T) {
	set := "z1"
	for _, tt := range []struct {
		name string
		body object
		want string
	}{
		{"NothingButIdentity", NodePatch{UID: "u"}.body(), `{"metadata":{"uid":"u"}}`},
		{"ResourceVersionIsAPrecondition", NodePatch{UID: "u", ResourceVersion: "7"}.body(), `{"metadata":{"resourceVersion":"7","uid":"u"}}`},
		{
			"NilLabelIsRemoved",
			NodePatch{UID: "u", Labels: map[string]*string{"a": &set, "b": nil}}.body(),
			`{"metadata":{"labels":{"a":"z1","b":null},"uid":"u"}}`,
		},
		{"AnnotationIsSet", NodePatch{UID: "u", Annotations: map[string]*string{"a": &set}}.body(), `{"metadata":{"annotations":{"a":"z1"},"uid":"u"}}`},
		{"ProviderIDIsSet", NodePatch{UID: "u", ProviderID: "p://1"}.body(), `{"metadata":{"uid":"u"},"spec":{"providerID":"p://1"}}`},
		{"LastTaintRemovesTheField", NodePatch{UID: "u", Taints: &[]corev1.Taint{}}.body(), `{"metadata":{"uid":"u"},"spec":{"taints":null}}`},
		{
			"OtherTaintsStay",
			NodePatch{UID: "u", Taints: &[]corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}}.body(),
			`{"metadata":{"uid":"u"},"spec":{"taints":[{"key":"k","effect":"NoSchedule"}]}}`,
		},
		{
			"AddressesReplaceTheList",
			NodeStatusPatch{UID: "u", Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.1.1"}}}.body(),
			`{"metadata":{"uid":"u"},"status":{"addresses":[{"type":"InternalIP","address":"127.0.1.1"},{"$patch":"replace"}]}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIsStale(t *testing.T) {
	nodes := schema.GroupResource{Resource: "nodes"}
	kind := schema.GroupKind{Kind: "Node"}
	for _, tt := range []struct {
		name string
		err  error
		want bool
	}{
		{"ConflictIsStale", apierrors.NewConflict(nodes, "n", nil), true},
		{"WrappedConflictIsStale", fmt.Errorf("patch: %w", apierrors.NewConflict(nodes, "n", nil)), true},
		{
			"AnotherUIDIsStale",
			fmt.Errorf("patch: %w", apierrors.NewInvalid(kind, "n", field.ErrorList{field.Invalid(field.NewPath("metadata", "uid"), "u", "field is immutable")})),
			true,
		},
		{"InvalidLabelIsNot", apierrors.NewInvalid(kind, "n", field.ErrorList{field.Invalid(field.NewPath("metadata", "labels"), "u", "bad")}), false},
		{"NotFoundIsNot", apierrors.NewNotFound(nodes, "n"), false},
		{"NilIsNot", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := IsStale(tt.err); got != tt.want {
				t.Errorf("IsStale(%v) = %v, want %v", tt.err, got, tt.want)
			}
		})
	}
}

func TestTrimDropsWhatNoRuleReads(t *testing.T) {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
		Spec:       corev1.NodeSpec{ProviderID: "p://1"},
		Status: corev1.NodeStatus{
			Images:          []corev1.ContainerImage{{Names: []string{"i"}}},
			VolumesInUse:    []corev1.UniqueVolumeName{"v"},
			VolumesAttached: []corev1.AttachedVolume{{Name: "v"}},
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "n"}},
		},
	}
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}},
		Spec:       corev1.NodeSpec{ProviderID: "p://1"},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "n"}}},
	}
	got, err := trim(node)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trimmed node (-want +got):\n%s", diff)
	}
	if got, err := trim("no object"); err != nil || got != "no object" {
		t.Errorf("trim of another shape = %v, %v, want it unchanged", got, err)
	}
}
