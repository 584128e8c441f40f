package node

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// A kubelet can set fairlead.dev/exclude on its own Node. With the flag it does not
// keep the Node from anything, and an event says so. Each label that appears is
// said once.
func TestExclusionIsSaidOnce(t *testing.T) {
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

// The event is not lost with the question to the cloud in between.
func TestExclusionIsSaidAfterTheQuestion(t *testing.T) {
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
