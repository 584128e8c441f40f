package kube

import (
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// TestNodesWithProviderID lets several controllers index one informer at the same
// time.
func TestNodesWithProviderID(t *testing.T) {
	informer := NewInformerFactory(fake.NewClientset(), 0, nil).Core().V1().Nodes().Informer() // It is never started.
	if got := NodesWithProviderID(informer, "p://1"); got != nil {
		t.Errorf("%v without an index", got)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := IndexProviderIDs(informer); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for name, id := range map[string]string{"a": "p://1", "b": "p://1", "c": "p://2", "d": ""} {
		if err := informer.GetStore().Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: id}}); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]int{"p://1": 2, "p://2": 1, "": 0, "p://3": 0} {
		if got := NodesWithProviderID(informer, id); len(got) != want {
			t.Errorf("%d Nodes have the provider ID %q, want %d", len(got), id, want)
		}
	}
}
