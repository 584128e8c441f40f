package node

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

func TestNodesThatAreLeftAlone(t *testing.T) {
	left := func(why string) outcome { return outcome{Do: doNothing, Why: why} }
	excluded := func(label string) outcome {
		return outcome{Do: doNothing, Why: "the Node is labelled " + label, Events: []string{"NodeExcluded"}}
	}
	deleted := func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} }
	check(t, []row{
		{name: "TerminatingNodeIsLeftAlone", node: fresh(deleted), answer: machine(), want: left("the Node is being deleted")},
		{name: "ExcludedNodeIsLeftAlone", node: fresh(label(ownership.LabelExclude, "")), want: excluded(ownership.LabelExclude)},
		{name: "ExcludedNodeIsLeftAloneAfterInitialisation", node: settled(label(ownership.LabelExclude, "true")), answer: machine(func(i *instance) { i.size = "large" }), want: excluded(ownership.LabelExclude)},
		{name: "NodeExcludedByTheRestrictedLabelIsLeftAlone", node: fresh(label(ownership.LabelExcludeRestricted, "")), want: excluded(ownership.LabelExcludeRestricted)},
		{name: "ExclusionThatSaysFalseIsNone", node: fresh(label(ownership.LabelExclude, "false")), want: outcome{Do: ask, Why: "the Node waits for its instance to be described"}},
	})
}

func TestMemoryOfAnotherNodeUnderTheNameIsForgotten(t *testing.T) {
	p := decide(observed{now: noon, node: fresh(), answer: refusing("CloudDenied"), memory: memory{uid: "u0", waitsSince: noon.Add(-time.Hour), recorded: showing.News{"CloudDenied": noon.Add(-time.Hour)}}})
	want := memory{uid: "u1", waitsSince: noon, waitsFor: "CloudDenied", recorded: showing.News{"CloudDenied": noon}, vain: 1, nextAsk: noon.Add(firstPause)}
	if diff := cmp.Diff(want, p.memory, compare); diff != "" {
		t.Errorf("memory (-want +got):\n%s", diff)
	}
}
