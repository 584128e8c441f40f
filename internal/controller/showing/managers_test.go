package showing

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestManagers(t *testing.T) {
	node := &corev1.Node{}
	for _, of := range [][2]string{{"b", `{"f:spec":{"f:podCIDR":{}}}`}, {"us", `{"f:status":{}}`}, {"a", `{"f:spec":{"f:podCIDRs":{}}}`}, {"b", `{"f:podCIDR":{}}`}} {
		var fields metav1.FieldsV1
		fields.SetRawBytes([]byte(of[1]))
		node.ManagedFields = append(node.ManagedFields, metav1.ManagedFieldsEntry{Manager: of[0], FieldsV1: &fields})
	}
	node.ManagedFields = append(node.ManagedFields, metav1.ManagedFieldsEntry{Manager: "without fields"})
	for field, want := range map[string]string{`"f:podCIDR`: "a, b", `"f:podCIDR"`: "b", `"f:status"`: "us", `"f:spec2"`: ""} {
		if got := Managers(node, field); got != want {
			t.Errorf("managers %q of %s, want %q", got, field, want)
		}
	}
}
