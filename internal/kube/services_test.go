package kube

import (
	"encoding/json"
	"testing"
)

// The patch of a Service contains only the UID and the fields to change. An empty
// value removes the annotation.
func TestServicePatchCarriesNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		patch ServicePatch
		want  string
	}{
		"Nothing":           {ServicePatch{UID: "u"}, `{"metadata":{"uid":"u"}}`},
		"Annotation":        {ServicePatch{UID: "u", Annotation: "a/b", Value: "c"}, `{"metadata":{"annotations":{"a/b":"c"},"uid":"u"}}`},
		"AnnotationRemoved": {ServicePatch{UID: "u", Annotation: "a/b"}, `{"metadata":{"annotations":{"a/b":null},"uid":"u"}}`},
		"Finalizer":         {ServicePatch{UID: "u", AddFinalizer: "f", Annotation: "a/b", Value: "c"}, `{"metadata":{"annotations":{"a/b":"c"},"finalizers":["f"],"uid":"u"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := json.Marshal(c.patch.body())
			if err != nil || string(got) != c.want {
				t.Errorf("patch %s, error %v, want %s", got, err, c.want)
			}
		})
	}
}
