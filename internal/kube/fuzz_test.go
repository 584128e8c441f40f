package kube

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// FuzzNodePatch applies a JSON patch that changes a label. Afterwards the Node must
// have the wanted label, and its other labels as before. If the label has changed
// before the patch arrives, the patch must be refused.
func FuzzNodePatch(f *testing.F) {
	for _, seed := range []struct{ key, had, value string }{
		{"a", "1", "2"}, {"example.com/a~b", "", "x"}, {"~1/~0", "~", "/"}, {"", "1", ""}, {"a/b/c", "x", ""}, {"-", "\"", "\\"}, {"0", "\xff", "é"}, {"<", ">", "&"},
	} {
		f.Add(seed.key, seed.had, seed.value, true, true, false)
		f.Add(seed.key, seed.had, seed.value, false, true, true)
		f.Add(seed.key, seed.had, seed.value, true, false, false)
	}
	f.Fuzz(func(t *testing.T, key, had, value string, exists, set, meanwhile bool) {
		key, had, value = strings.ToValidUTF8(key, "?"), strings.ToValidUTF8(had, "?"), strings.ToValidUTF8(value, "?")
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "1", Labels: map[string]string{"other": "stays"}}}
		if exists {
			node.Labels[key] = had
		}
		stored := node.DeepCopy()
		if meanwhile {
			stored.Labels[key] = had + " changed"
		}
		want, wanted := maps.Clone(node.Labels), map[string]*string{key: nil}
		delete(want, key)
		if set {
			want[key], wanted[key] = value, &value
		}
		client := fake.NewClientset(stored)
		nodes := NewNodes(t.Context(), client, NewInformerFactory(client, 0, nil).Core().V1().Nodes())
		_, err := nodes.Patch(t.Context(), NodePatch{Node: node, Labels: wanted})
		if meanwhile {
			if (exists || set) && err == nil {
				t.Errorf("label %q is overwritten, although it has changed meanwhile", key)
			}
			return
		}
		if err != nil {
			t.Fatalf("label %q from %q (%t) to %q (%t): %v", key, had, exists, value, set, err)
		}
		got, err := nodes.Live(t.Context(), "n")
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(got.Labels, want) {
			t.Errorf("labels %q, want %q", got.Labels, want)
		}
	})
}
