package nodelifecycle

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

func marked(n *corev1.Node) {
	n.Labels[nodefact.LabelIdentity] = nodefact.Identity(n.UID, n.Spec.ProviderID)
}

// elsewhere returns a cluster in which all Nodes that report are in another region than
// the given ones.
func elsewhere(nodes ...other) cluster {
	away := located(corev1.LabelTopologyRegion, "r2")
	return peersOf(append(nodes, witness("w1", present, 0, away), witness("w2", present, 0, away))...)
}

func TestLastNodeOfARegion(t *testing.T) {
	const (
		deleted = "delete: the cloud says that the instance does not exist, and confirms 2 other Nodes"
		held    = "hold: NoWitness; again in 1m0s; event NodeDeletionHeld"
	)
	long := gone(n1, 20, 10*time.Minute, 0)
	known := other{node: n1, presence: absent, checked: true, record: record{presence: absent, confirmed: true}}
	unknown := other{node: n1, presence: absent, checked: true, record: record{presence: absent}}
	drained := old("n1", condition("Drained", corev1.ConditionTrue))
	checkRows(t, []row{
		{name: "AnnouncedNodeHasWitnessesElsewhere", node: old("n1", taint("ToBeDeletedByClusterAutoscaler")), memory: complete, peers: elsewhere(), check: asked, want: deleted},
		{name: "ConditionAnnouncesByFlag", node: drained, memory: complete, peers: elsewhere(), limits: func(l *Limits) { l.AnnouncedByConditions = true }, check: asked, want: deleted},
		{name: "ConditionAnnouncesNothingByDefault", node: drained, memory: complete, peers: elsewhere(), check: asked, want: held},
		{name: "NodeThatWasConfirmedIsDeletedAfterTenMinutes", memory: long, peers: elsewhere(known), check: asked, want: deleted},
		{name: "NodeWhoseProviderIDWeHaveWrittenIsDeletedAfterTenMinutes", node: old("n1", marked), memory: long, peers: elsewhere(unknown), check: asked, want: deleted},
		{name: "NodeThatWasConfirmedWaitsBefore", memory: gone(n1, 20, 9*time.Minute+50*time.Second, 0), peers: elsewhere(known), check: asked, want: "hold: NoWitness; again in 10s; event NodeDeletionHeld"},
		{name: "NodeThatWasNeverConfirmedStays", memory: long, peers: elsewhere(unknown), check: asked, want: held},
		{name: "MarkOfAnotherNodeProvesNothing", node: old("n1", marked, func(n *corev1.Node) { n.Spec.ProviderID = "p://2" }), memory: gone(old("n1", providerID("p://2")), 20, 10*time.Minute, 0), peers: elsewhere(unknown), check: asked, want: held},
		{
			name: "SilentNodeOfTheRegionKeepsIt", node: old("n1", marked), memory: long, check: asked,
			peers: elsewhere(known, other{node: old("m1"), presence: present, checked: true}), want: held,
		},
		{
			name: "ForeignNodeOfTheRegionKeepsIt", node: old("n1", marked), memory: long, check: asked,
			peers: elsewhere(known, foreign()), want: held,
		},
		{
			name: "ManyNodesOfARegionStay", node: old("n1", marked), memory: long, check: asked,
			peers: elsewhere(append(absentOf(3, 3).nodes, known)...), want: held,
		},
		{
			name: "DeniedNodeElsewhereContradicts", memory: long, peers: elsewhere(known, deniedFor(witness("w3", absent, 0, located(corev1.LabelTopologyRegion, "r2")), time.Minute)),
			check: asked, want: "hold: CloudContradictsKubelet; again in 30s; event NodeDeletionHeld",
		},
		{name: "FlagMayBeShorter", memory: complete, peers: elsewhere(known), limits: func(l *Limits) { l.WithoutWitnessAfter = 40 * time.Second }, check: asked, want: "delete: the cloud says that the instance does not exist, and there is no other Node to ask the cloud about"},
	})
}

func TestClusterThatIsScaledToZero(t *testing.T) {
	leaving := taint("ToBeDeletedByClusterAutoscaler")
	n1 := old("n1", leaving)
	goes := other{node: n1, presence: absent, checked: true}
	another := func(edits ...func(*corev1.Node)) other {
		return other{node: old("m1", edits...), presence: absent, checked: true}
	}
	const held = "hold: NoWitness; again in 1m0s; event NodeDeletionHeld"
	rows := []row{
		{name: "AllAnnouncedNodesAreDeletedAfterTenMinutes", peers: cluster{nodes: []other{goes, another(leaving)}}, want: "delete: the cloud says that the instance does not exist, and the removal of each Node is announced"},
		{name: "OneNodeThatIsNotAnnouncedKeepsAll", peers: cluster{nodes: []other{goes, another()}}, want: held},
		{name: "SilentNodeOfAnotherSchemeKeepsAllToo", peers: cluster{nodes: []other{goes, another(providerID("q://1"))}}, want: held},
		{name: "ConditionDoesNotAnnounceIt", node: old("n1", condition("Drained", corev1.ConditionTrue)), limits: func(l *Limits) { l.AnnouncedByConditions = true }, peers: cluster{nodes: []other{{node: old("n1"), presence: absent, checked: true}}}, want: held},
		{name: "TheyWaitBefore", memory: gone(n1, 20, 9*time.Minute+50*time.Second, 0), peers: cluster{nodes: []other{goes}}, want: "hold: NoWitness; again in 10s; event NodeDeletionHeld"},
	}
	for i := range rows {
		if rows[i].node == nil {
			rows[i].node = n1
		}
		if rows[i].memory.evidence == (evidence{}) {
			rows[i].memory = gone(n1, 20, 10*time.Minute, 0)
		}
		rows[i].check = asked
	}
	checkRows(t, rows)
}

// A node group goes down to zero in a region, or the whole cluster does.
func TestGroupThatIsScaledToZero(t *testing.T) {
	leaving := taint("ToBeDeletedByClusterAutoscaler")
	described := func(n *corev1.Node) { n.Annotations = map[string]string{"described": ""} }
	for _, tt := range []struct {
		name       string
		gone, live int
		edit       func(*corev1.Node)
		stays      time.Duration // how long the Nodes stay at least
		within     time.Duration
	}{
		{"LastNodeOfARegionAnnounced", 1, 30, leaving, 0, time.Minute},
		{"LastNodeOfARegion", 1, 30, marked, 10 * time.Minute, 11 * time.Minute},
		{"LastNodeOfARegionDescribed", 1, 30, described, 10 * time.Minute, 11 * time.Minute},
		{"LastNodeOfARegionUnknown", 1, 30, nil, 12 * time.Hour, 0},
		{"RegionAnnounced", 10, 40, leaving, 0, time.Minute},
		{"RegionNotAnnounced", 10, 40, marked, 12 * time.Hour, 0},
		{"OneNodeCluster", 1, 0, leaving, 10 * time.Minute, 11 * time.Minute},
		{"Cluster", 10, 0, leaving, 10 * time.Minute, 11 * time.Minute},
		{"ClusterNotAnnounced", 10, 0, marked, 12 * time.Hour, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var nodes []*corev1.Node
				known := map[string]bool{}
				for i := range tt.gone {
					node := old(fmt.Sprint("gone-", i))
					if tt.edit != nil {
						tt.edit(node)
					}
					_, known[node.Name] = node.Annotations["described"]
					nodes = append(nodes, node)
				}
				for i := range tt.live {
					nodes = append(nodes, old(fmt.Sprint("live-", i), reports, located(corev1.LabelTopologyRegion, "r2")))
				}
				r := beginRemovals(t, DefaultLimits(), nodes...)
				defer func() { r.stop() }()
				r.change(func() {
					r.described = known
					for i := range tt.gone {
						r.absent[fmt.Sprint("gone-", i)] = true
					}
				})
				r.after(tt.stays)
				if got := r.count("gone"); got != tt.gone {
					t.Errorf("%d of %d Nodes are left after %v", got, tt.gone, tt.stays)
				}
				if tt.within == 0 {
					return
				}
				r.after(tt.within - tt.stays)
				if got := r.count("gone"); got != 0 {
					t.Errorf("%d of %d Nodes are left after %v", got, tt.gone, tt.within)
				}
			})
		})
	}
}
