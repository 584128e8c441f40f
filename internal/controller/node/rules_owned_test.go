package node

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// A kubelet can set fairlead.dev/exclude on its own Node. With
// --node-restricted-labels-only, the label has no effect, and an event says so. Each
// such label is reported once when it appears.
func TestExclusionIsReportedOnce(t *testing.T) {
	var (
		byKubelet  = label(ownership.LabelExclude, "")
		byOperator = label(ownership.LabelExcludeRestricted, "")
		restricted = ownership.Claim{RestrictedLabels: true}
	)
	for _, tt := range []struct {
		name  string
		claim ownership.Claim
		node  *corev1.Node
		do    action
		say   []string
	}{
		{name: "LabelOfAKubelet", node: settled(byKubelet), do: doNothing, say: []string{"NodeExcluded"}},
		{name: "RestrictedLabel", node: settled(byOperator), do: doNothing, say: []string{"NodeExcluded"}},
		{name: "LabelOfAKubeletIsIgnoredByTheFlag", claim: restricted, node: settled(byKubelet), do: update, say: []string{"NodeExclusionIgnored"}},
		{name: "WaitingNodeWithTheIgnoredLabelIsInitialised", claim: restricted, node: fresh(byKubelet), do: release, say: []string{"NodeExclusionIgnored", "Synced"}},
		{name: "RestrictedLabelWithTheFlag", claim: restricted, node: settled(byOperator), do: doNothing, say: []string{"NodeExcluded"}},
		{name: "BothLabelsWithTheFlag", claim: restricted, node: settled(byKubelet, byOperator), do: doNothing, say: []string{"NodeExcluded"}},
		{name: "NoLabel", node: settled(), do: update},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := observed{now: noon, node: tt.node, claim: tt.claim, answer: machine(func(i *instance) { i.size = "large" }), policy: follows}
			p := decide(o)
			if got := outcomeOf(p); got.Do != tt.do || !slices.Equal(got.Events, tt.say) {
				t.Errorf("%s with events %v, want %s with %v", got.Do, got.Events, tt.do, tt.say)
			}
			o.memory = p.memory
			if got := outcomeOf(decide(o)); slices.Contains(got.Events, "NodeExcluded") || slices.Contains(got.Events, "NodeExclusionIgnored") {
				t.Errorf("it is said again: %v", got.Events)
			}
			o.node = settled()
			o.memory = decide(o).memory
			o.node = tt.node
			if got := outcomeOf(decide(o)); !slices.Equal(got.Events, tt.say) {
				t.Errorf("after the label was removed and set again: %v, want %v", got.Events, tt.say)
			}
		})
	}
}

// If a Node of another manager waits to be initialised, one event reports this after a
// minute. Nothing else is written to the Node.
func TestForeignNodeThatWaitsIsReportedOnce(t *testing.T) {
	young := fresh(func(n *corev1.Node) {
		n.CreationTimestamp = metav1.NewTime(noon.Add(-20 * time.Second))
		n.Spec.ProviderID = "robot://7"
	})
	o := observed{now: noon, node: young, claim: ownership.Claim{Schemes: []string{"p"}}}
	p := decide(o)
	if p.do != doNothing || len(p.events) > 0 || p.after != 40*time.Second {
		t.Errorf("a young Node: %s with events %v, again in %v", p.do, p.events, p.after)
	}
	o.now, o.memory = noon.Add(40*time.Second), p.memory
	p = decide(o)
	if got := outcomeOf(p); p.do != doNothing || !slices.Equal(got.Events, []string{"ForeignNode"}) || p.condition != nil {
		t.Errorf("after a minute: %+v", got)
	}
	o.now, o.memory = noon.Add(time.Hour), p.memory
	if p = decide(o); len(p.events) > 0 || p.after != 0 {
		t.Errorf("it is said again: %v, again in %v", p.events, p.after)
	}
	o.node = settled(func(n *corev1.Node) { n.Spec.ProviderID = "robot://7" })
	if p = decide(o); p.do != doNothing || len(p.events) > 0 || p.memory.said != "" {
		t.Errorf("an initialised Node: %s with events %v", p.do, p.events)
	}
}

// A program can filter the Nodes with Claim.Nodes. A change of a Node wakes the Node if
// the result of the filter changes, whichever field the filter reads.
func TestFilterWakes(t *testing.T) {
	claim := ownership.Claim{Nodes: func(n *corev1.Node) bool { return n.Annotations["pool"] == "" }}
	theirs := settled(func(n *corev1.Node) { withAnnotation(n, "pool", "theirs") })
	if !wakes(claim, settled(), theirs) || !wakes(claim, theirs, settled()) {
		t.Error("a Node that the filter begins or ceases to leave out has no pass")
	}
	if p := decide(observed{now: noon, node: theirs, claim: claim, answer: machine(), policy: follows}); p.do != doNothing || isRefreshed(claim, theirs) {
		t.Errorf("the Node is not left alone: %s", p.why)
	}
}

// The event about an ignored label is recorded even though the cloud is asked first.
func TestExclusionIsReportedAfterTheQuestion(t *testing.T) {
	o := observed{now: noon, node: fresh(label(ownership.LabelExclude, "")), claim: ownership.Claim{RestrictedLabels: true}}
	asked := decide(o)
	if asked.do != ask {
		t.Fatalf("it does %q, want a question", asked.do)
	}
	o.memory, o.answer = asked.memory, refusing("CloudDenied")
	if got := outcomeOf(decide(o)); !slices.Contains(got.Events, "NodeExclusionIgnored") {
		t.Errorf("events %v", got.Events)
	}
}
