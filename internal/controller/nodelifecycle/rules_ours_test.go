package nodelifecycle

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

func TestNodeThatIsNotOurs(t *testing.T) {
	own := old("n1", providerID(""))
	tainted := old("n1", providerID(""), taint(api.TaintExternalCloudProvider))
	nameless := cluster{nodes: []other{witness("w1", present, 0, providerID("")), witness("w2", present, 0, providerID(""))}}
	checkRows(t, []row{
		{name: "MachineOfOnesOwnIsHeldAtTheFirstAbsence", node: own, answer: said(absent), peers: trusted, want: "hold: NotOfThisCloud; again in 15s; event NodeDeletionHeld"},
		{name: "MachineOfOnesOwnIsHeldForEver", node: own, memory: gone(own, 40, 9*time.Hour, 0), peers: trusted, want: "hold: NotOfThisCloud; again in 1m0s; event NodeDeletionHeld"},
		{name: "MachineOfOnesOwnIsHeldInTheFinalCheck", node: own, memory: gone(own, 4, time.Hour, 0), check: asked, peers: trusted, want: "hold: NotOfThisCloud; again in 1m0s; event NodeDeletionHeld"},
		{
			name: "MachineOfOnesOwnIsHeldWhereAllWitnessesAreGone", node: own, memory: gone(own, 4, time.Hour, 0), check: asked,
			peers: cluster{confirmed: map[string]bool{"p": true}}, want: "hold: NotOfThisCloud; again in 1m0s; event NodeDeletionHeld",
		},
		{name: "MachineThatTheCloudKnowsByNameIsFound", node: own, answer: said(present), peers: trusted, want: "nothing: the cloud says that the instance exists; again in 5s"},
		{
			name: "NodeThatWaitsToBeInitialisedMayBeDeleted", node: tainted, memory: gone(tainted, 4, time.Hour, 0), check: asked, peers: trusted,
			want: "delete: the cloud says that the instance does not exist, and confirms 2 other Nodes",
		},
		{
			name: "NodeOfAProviderWithoutProviderIDsMayBeDeleted", node: own, memory: gone(own, 4, time.Hour, 0), check: asked, peers: nameless,
			want: "delete: the cloud says that the instance does not exist, and confirms 2 other Nodes",
		},
		{
			name: "ProviderIDOfAnExcludedNodeCountsForNothing", node: own, memory: gone(own, 4, time.Hour, 0), check: asked,
			peers: cluster{nodes: append([]other{unasked("w3", label(ownership.LabelExclude, ""))}, nameless.nodes...)},
			want:  "delete: the cloud says that the instance does not exist, and confirms 2 other Nodes",
		},
		{
			name: "FlagForUpstreamsWayDeletesIt", node: own, memory: gone(own, 4, time.Hour, 0), check: asked, peers: trusted, limits: func(l *Limits) { l.Witnesses = 0 },
			want: "delete: the cloud says that the instance does not exist",
		},
	})
}

// The cloud is not asked about Nodes that this daemon does not own. These Nodes are no
// witnesses, and they do not count towards the budget.
func TestNodesOfOthersTakeNoPart(t *testing.T) {
	claim := ownership.Claim{Schemes: []string{"p"}, Nodes: func(n *corev1.Node) bool { return n.Labels["pool"] == "" }}
	theirs := label("pool", "theirs")
	var gone20 []other
	for n := range 20 {
		gone20 = append(gone20, unasked(fmt.Sprintf("gone-%d", n), ready(corev1.ConditionUnknown, 0), theirs))
	}
	checkRows(t, []row{
		{name: "ForeignNodeIsLeftAlone", node: old("n1", providerID("q://n1")), claim: claim, memory: complete, want: `nothing: the provider ID "q://n1" is not one of --own-provider-id-schemes=p`},
		{name: "NodeOutsideTheFilterIsLeftAlone", node: old("n1", theirs), claim: claim, memory: complete, want: "nothing: the filter of this program leaves the Node out"},
		{name: "ForeignNodesAreNotInTheBudget", claim: claim, memory: complete, peers: peersOf(append(gone20, trusted.nodes...)...), want: "enqueue for the final check: the absence is confirmed; again in 2m0s"},
		{name: "ForeignNodeIsNoWitness", claim: claim, memory: complete, check: asked, peers: peersOf(witness("w1", present, 0, theirs)), want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld"},
		{name: "ForeignNodeContradictsNothing", claim: claim, memory: complete, check: asked, peers: peersOf(witness("w1", absent, 0, theirs), witness("w2", present, 0)), want: "delete: the cloud says that the instance does not exist, and confirms 1 other Nodes"},
		{name: "ListedSchemeNeedsAConfirmationNevertheless", claim: claim, memory: complete, check: asked, peers: cluster{nodes: []other{witness("w1", unknown, 0)}}, want: "hold: NoWitness; again in 1m0s; event NodeDeletionHeld"},
	})
}
