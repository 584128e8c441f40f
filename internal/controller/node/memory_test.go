package node

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Nothing is remembered of a Node that is gone: neither its answers nor that the watch
// has named it.
func TestNothingIsRememberedOfNodesThatAreGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := beginHinted(t, 3)
		defer func() { q.stop() }()
		q.vendor.change(nameOf(0), "b")
		q.after(2 * hintedPeriod)
		for n := range 3 {
			if err := q.cluster.CoreV1().Nodes().Delete(t.Context(), nameOf(n), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		q.after(2*idleWoken + time.Minute)
		c := q.control
		if left := len(c.memories) + len(c.fetched) + len(c.woken.nodes) + c.index.refreshes(); left > 0 {
			t.Errorf("memories %v, answers %v, named %v, index %v", c.memories, c.fetched, c.woken.nodes, c.index.all())
		}
	})
}

// The next question about a Node that the watch has named comes when the first of these
// Nodes is due.
func TestFirstDueNodeEndsTheSleep(t *testing.T) {
	w := woken{nodes: map[string]wokenNode{}}
	for n, due := range []time.Duration{20 * time.Second, 10 * time.Second, 30 * time.Second} {
		w.nodes[nameOf(n)] = wokenNode{named: noon, due: noon.Add(due)}
	}
	for range 20 { // The order of a map is random.
		if names, next := w.take(noon); len(names) > 0 || next != 10*time.Second {
			t.Fatalf("take = %v, %v, want no Node for 10 seconds", names, next)
		}
	}
}
