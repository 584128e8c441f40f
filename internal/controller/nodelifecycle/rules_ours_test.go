package nodelifecycle

import (
	"testing"
	"time"

	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

func TestNodeThatIsNotOurs(t *testing.T) {
	own := old("n1", providerID(""))
	tainted := old("n1", providerID(""), taint(api.TaintExternalCloudProvider))
	nameless := peers{nodes: []peer{witness("w1", present, 0, providerID("")), witness("w2", present, 0, providerID(""))}}
	checkRows(t, []row{
		{name: "MachineOfOnesOwnIsHeldAtTheFirstAbsence", node: own, answer: said(absent), peers: trusted, want: "hold: NotOfThisCloud; again in 15s; event NodeDeletionHeld"},
		{name: "MachineOfOnesOwnIsHeldForEver", node: own, memory: gone(own, 40, 9*time.Hour, 0), peers: trusted, want: "hold: NotOfThisCloud; again in 1m0s; event NodeDeletionHeld"},
		{name: "MachineOfOnesOwnIsHeldInTheFinalCheck", node: own, memory: gone(own, 4, time.Hour, 0), check: asked, peers: trusted, want: "hold: NotOfThisCloud; again in 1m0s; event NodeDeletionHeld"},
		{
			name: "MachineOfOnesOwnIsHeldWhereAllWitnessesAreGone", node: own, memory: gone(own, 4, time.Hour, 0), check: asked,
			peers: peers{confirmed: map[string]bool{"p": true}}, want: "hold: NotOfThisCloud; again in 1m0s; event NodeDeletionHeld",
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
			peers: peers{nodes: append([]peer{unasked("w3", label(ownership.LabelExclude, ""))}, nameless.nodes...)},
			want:  "delete: the cloud says that the instance does not exist, and confirms 2 other Nodes",
		},
		{
			name: "FlagForUpstreamsWayDeletesIt", node: own, memory: gone(own, 4, time.Hour, 0), check: asked, peers: trusted, limits: func(l *Limits) { l.Witnesses = 0 },
			want: "delete: the cloud says that the instance does not exist",
		},
	})
}
