package nodelifecycle

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The number of questions about a Node is bounded, however often its Ready condition
// changes (promise P2 b).
func TestQuestionsAboutANodeThatFlapsAreBounded(t *testing.T) {
	for _, silent := range []corev1.ConditionStatus{corev1.ConditionUnknown, corev1.ConditionFalse} {
		synctest.Test(t, func(t *testing.T) {
			r := beginRemovals(t, DefaultLimits(), old("n1", reports))
			defer r.stop()
			asked := func() (n int) {
				r.change(func() { n, r.asked = len(r.asked), nil })
				return n
			}
			set := func(status corev1.ConditionStatus) {
				node, err := r.cluster.CoreV1().Nodes().Get(t.Context(), "n1", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: metav1.NewTime(time.Now().Add(-time.Hour))}}
				if _, err := r.cluster.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(500 * time.Millisecond)
				synctest.Wait()
			}
			set(silent)
			if got := asked(); got != 1 {
				t.Errorf("%v: %d questions at first, want 1 at once", silent, got)
			}
			perMinute := func() int {
				for range 60 {
					set(corev1.ConditionTrue)
					set(silent)
				}
				return asked()
			}
			if got, most := perMinute(), firstLimit.Burst+1; got > most {
				t.Errorf("%v: %d questions in the first minute, want %d at most", silent, got, most)
			}
			for range 5 {
				if got := perMinute(); got > 2 {
					t.Errorf("%v: %d questions in a later minute, want 1, and 2 at most", silent, got)
				}
			}
			set(corev1.ConditionTrue)
			time.Sleep(time.Hour)
			asked()
			set(silent)
			if got := asked(); got != 1 {
				t.Errorf("%v: %d questions after a rest, want 1 at once", silent, got)
			}
		})
	}
}

// If a Node has used up its first questions, the cloud is asked about it later. The
// event and the condition of the Node do not change.
func TestNodeThatFlapsIsAskedAboutLater(t *testing.T) {
	m := memory{evidence: evidence{}.about(n1), holding: holding{reason: "NoWitness"}}
	for range firstLimit.Burst {
		m.firsts = m.firsts.Used(firstLimit, noon)
	}
	p := decideSuspicion(observed{now: noon, node: n1, memory: m, limits: DefaultLimits()})
	if p.do != doNothing || p.after != time.Minute || p.memory.holding.reason != "NoWitness" || p.condition != nil || len(p.events) > 0 {
		t.Errorf("%v after %v: %+v, want to wait for a minute", p.do, p.after, p)
	}
	p = decideSuspicion(observed{now: noon.Add(time.Minute), node: n1, memory: m, limits: DefaultLimits()})
	if p.do != ask {
		t.Errorf("%v after the pause, want a question", p.do)
	}
	// A short exclusion of the Node does not renew its allowance for first questions.
	excluded := n1.DeepCopy()
	excluded.Labels["fairlead.dev/exclude"] = "true"
	kept := decideSuspicion(observed{now: noon, node: excluded, memory: m, limits: DefaultLimits()}).memory
	if kept.firsts != m.firsts {
		t.Errorf("the allowance is %+v after the exclusion, want %+v", kept.firsts, m.firsts)
	}
	if kept.isEmpty(noon) || !kept.isEmpty(noon.Add(time.Hour)) {
		t.Error("the allowance is not kept until it is whole, or for longer")
	}
}
