package node

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// change edits a Node, as its kubelet could do.
func (q *quirky) change(name string, edits ...func(*corev1.Node)) {
	q.t.Helper()
	node := q.node(name)
	for _, edit := range edits {
		edit(node)
	}
	if _, err := q.cluster.CoreV1().Nodes().Update(q.t.Context(), node, metav1.UpdateOptions{}); err != nil {
		q.t.Fatal(err)
	}
}

// The number of questions about a Node is bounded, however often its kubelet changes
// the Node (promise P2 b).
func TestQuestionsAboutANodeAreBounded(t *testing.T) {
	relabelled := func(n *corev1.Node) { n.Labels["now"] = strconv.FormatInt(time.Now().UnixNano(), 10) }
	for _, tt := range []struct {
		name  string
		known bool
		edit  func(*corev1.Node)
	}{
		{"LabelOfAnUnknownNode", false, relabelled},
		{"TaintOfAKnownNode", true, func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{uninitialized} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := beginQuirky(t, Config{}, nil, joins("n1"))
				defer func() { q.stop() }()
				q.vendor.mu.Lock()
				if !tt.known {
					clear(q.vendor.instances)
				}
				q.vendor.mu.Unlock()
				q.after(time.Millisecond)
				if got := len(q.takeAsked()); got != 1 {
					t.Errorf("%d questions at first, want 1 at once", got)
				}
				perMinute := func() int {
					for range 120 {
						q.change("n1", tt.edit)
						q.after(500 * time.Millisecond)
					}
					return len(q.takeAsked())
				}
				const refreshes = 1
				if got, most := perMinute(), questionLimit.Burst+2+refreshes; got > most {
					t.Errorf("%d questions in the first minute, want %d at most", got, most)
				}
				for range 3 {
					if got := perMinute(); got > 2+refreshes {
						t.Errorf("%d questions in a later minute, want %d at most", got, 2+refreshes)
					}
				}
				q.after(time.Hour)
				q.takeAsked()
				q.change("n1", tt.edit)
				q.after(time.Second)
				if got := len(q.takeAsked()); got < 1 || got > 2 {
					t.Errorf("%d questions after a rest, want 1 at once", got)
				}
			})
		})
	}
}

func TestNodeWithoutQuestionsLeftWaits(t *testing.T) {
	used := memory{uid: "u1", vain: 9, nextAsk: noon.Add(time.Minute)}
	for range questionLimit.Burst - 1 {
		used.questions = used.questions.Used(questionLimit, noon.Add(-time.Second))
	}
	last := decide(observed{now: noon, node: fresh(), memory: used})
	if last.do != ask || last.memory.vain != 9 {
		t.Errorf("%v, %d questions in vain, want the last question, and pauses that do not begin anew", last.do, last.memory.vain)
	}
	p := decide(observed{now: noon.Add(time.Second), node: fresh(), memory: last.memory})
	if p.do != wait || p.after <= 0 || p.after > questionLimit.Every || len(p.events) > 0 || p.condition != nil {
		t.Errorf("%v after %v with %v, want to wait in silence", p.do, p.after, p.events)
	}
	next := decide(observed{now: noon, node: fresh(func(n *corev1.Node) { n.UID = "u2" }), memory: used})
	if next.do != ask {
		t.Errorf("%v about the next Node of the name, want its first question", next.do)
	}
}
