package showing

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Managers returns the names of the field managers that own a field of the object whose
// name in metadata.managedFields contains this text. It is empty if there is none.
func Managers(of metav1.Object, field string) string {
	managers := map[string]bool{}
	for _, entry := range of.GetManagedFields() {
		if entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(field)) {
			managers[entry.Manager] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(managers)), ", ")
}
