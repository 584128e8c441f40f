package node

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FuzzRecord tests the annotation that records which labels came from the cloud. A
// kubelet can write this annotation. Whatever the annotation says, no reserved or
// invalid label is changed, and only offered labels are set. A record is read back as
// it was written.
func FuzzRecord(f *testing.F) {
	for _, seed := range []struct{ annotation, key, value string }{
		{`{"example.com/a":"1"}`, "example.com/a", "1"},
		{`{"kubernetes.io/hostname":"x"}`, "kubernetes.io/hostname", "x"},
		{"null", "a", ""},
		{"{", "a", "b"},
		{"[]", "", ""},
		{`{"a":1}`, "a", "1"},
		{`{"a":"b","a":"c"}`, "a", "c"},
		{`{"node-role.kubernetes.io/x":""}`, "node-role.kubernetes.io/x", ""},
		{"", "a", "\xff"},
		{`{"\u0000":""}`, "\x00", ""},
	} {
		f.Add(seed.annotation, seed.key, seed.value, "2")
	}
	f.Fuzz(func(t *testing.T, annotation, key, value, offered string) {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{AnnotationLabels: annotation}, Labels: map[string]string{key: value, "users/own": "stays"},
		}}
		labels, record := additionalLabels(node, map[string]string{key: offered}, LabelPolicy{Additional: true})
		for changed := range labels {
			if changed != key || reserved.MatchString(changed) || isInvalidLabel(changed, offered) {
				t.Errorf("label %q is changed by the record %q", changed, annotation)
			}
		}
		for named, value := range record {
			if reserved.MatchString(named) || isInvalidLabel(named, value) {
				t.Errorf("label %q with %q is recorded", named, value)
			}
		}
		written := recordOf(record, node)[AnnotationLabels]
		if written == nil {
			return
		}
		node.Annotations[AnnotationLabels] = *written
		if again := recorded(node); !maps.Equal(again, record) {
			t.Errorf("record %v is read as %v", record, again)
		}
	})
}
