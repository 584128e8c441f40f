package nodelifecycle

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// zoneOfTen returns a cluster of ten Nodes in one zone. Four are absent, n1 among them,
// and the cloud has just confirmed the other six.
func zoneOfTen(edits ...func(*cluster)) cluster {
	c := peersOf(other{node: n1, presence: absent, checked: true})
	for i := range 3 {
		c.nodes = append(c.nodes, other{node: old(fmt.Sprintf("gone%d", i)), presence: absent, checked: true})
	}
	for i := range 6 {
		c.nodes = append(c.nodes, witness(fmt.Sprintf("live%d", i), present, 0))
	}
	for _, edit := range edits {
		edit(&c)
	}
	return c
}

func with(n ...other) func(*cluster) {
	return func(c *cluster) { c.nodes = append(c.nodes, n...) }
}

// A Node over the budget waits only while the cloud's view of its own zone is doubtful.
func TestZone(t *testing.T) {
	const (
		held = "hold: TooManyAbsent; again in 1m0s; event NodeDeletionHeld"
		goes = "enqueue for the final check: the absence is confirmed; again in 2m0s"
	)
	silentOnes := with(other{node: old("silent0"), presence: present, checked: true}, other{node: old("silent1"), presence: present, checked: true})
	moved := func(key, value string) func(*cluster) {
		return func(c *cluster) {
			for i := range c.nodes[4:] {
				c.nodes[4+i].node.Labels[key] = value
			}
		}
	}
	nowhere := old("n1", located(corev1.LabelTopologyZone, ""))
	checkRows(t, []row{
		{name: "FourOfTenAreCheckedAtOnceIfTheRestReports", memory: complete, peers: zoneOfTen(), want: goes},
		{name: "TheyWaitIfHalfOfTheZoneIsSilent", memory: complete, peers: zoneOfTen(silentOnes), want: held},
		{name: "TheyWaitIfOnlyOtherZonesReport", memory: complete, peers: zoneOfTen(moved(corev1.LabelTopologyZone, "z2")), want: held},
		{name: "TheyWaitIfAZoneOfTheSameNameInAnotherRegionReports", memory: complete, peers: zoneOfTen(moved(corev1.LabelTopologyRegion, "r2")), want: held},
		{name: "TheyWaitIfTheZoneIsNotKnown", node: nowhere, memory: complete, peers: zoneOfTen(), want: held},
		{name: "TheyWaitIfTheCloudDeniesANodeThatReports", memory: complete, peers: zoneOfTen(with(deniedFor(witness("w1", absent, time.Minute), time.Minute))), want: held},
		{name: "TheyWaitIfANodeSeemsForeign", memory: complete, peers: zoneOfTen(with(foreign())), want: held},
		{name: "TheyWaitAfterTheCloudHasTakenBackAnAnswer", memory: complete, peers: zoneOfTen(func(c *cluster) { c.recanted = noon.Add(-9 * time.Minute) }), want: held},
		{name: "TheyWaitNoLongerForThatAfterTenMinutes", memory: complete, peers: zoneOfTen(func(c *cluster) { c.recanted = noon.Add(-10 * time.Minute) }), want: goes},
		{name: "TheyWaitIfNoWitnessesAreAskedAbout", memory: complete, peers: zoneOfTen(), limits: func(l *Limits) { l.Witnesses = 0 }, want: held},
		{
			name: "TheyAreDeletedAtABoundedRate", memory: complete, peers: zoneOfTen(func(c *cluster) {
				for i := range 5 {
					c.deleted = append(c.deleted, noon.Add(time.Duration(i-50)*time.Second))
				}
			}), want: "hold: DeletionRateLimited; again in 10s; event NodeDeletionHeld",
		},
		{name: "ConfirmedZoneDeletes", memory: complete, peers: zoneOfTen(), check: asked, want: "delete: the cloud says that the instance does not exist, and confirms 6 other Nodes"},
		{
			name: "NodeOfTheZoneIsAskedAboutForEachDeletion", memory: complete, check: asked, peers: zoneOfTen(func(c *cluster) {
				c.nodes[6] = witness("live2", present, time.Second)
			}), want: "ask about a witness: live2",
		},
		{
			name: "AllNodesOfTheZoneHaveToBeConfirmed", memory: complete, check: asked, peers: zoneOfTen(func(c *cluster) {
				c.nodes[6] = failedSince(witness("live2", present, time.Second), 0)
			}), want: held,
		},
		{
			name: "QuestionsAboutTheZoneAreBounded", memory: complete, check: &check{asked: true, questions: 15}, peers: zoneOfTen(func(c *cluster) {
				c.nodes[6] = witness("live2", present, time.Second)
			}), want: held,
		},
		{
			name: "ZoneIsNotAskedAboutAfterTenMinutes", memory: gone(n1, 20, 10*time.Minute, 0), check: asked, peers: zoneOfTen(func(c *cluster) {
				c.nodes[6] = witness("live2", present, time.Second)
			}), want: "delete: the cloud says that the instance does not exist, and confirms 6 other Nodes",
		},
	})
}

// The API server can show that the kubelet is silent before the informer does.
func TestZoneCountsTheNodeItselfAsSilent(t *testing.T) {
	c := zoneOfTen()
	c.nodes[0] = unasked("n1")
	if z := c.seenBy(observed{now: noon, node: n1, memory: complete, limits: DefaultLimits()}, true).peers.zone; z.nodes != 0 {
		t.Fatalf("zone %+v, want none within the budget", z)
	}
	c.nodes = append(c.nodes, other{node: old("gone3"), presence: absent, checked: true})
	if z := c.seenBy(observed{now: noon, node: n1, memory: complete, limits: DefaultLimits()}, true).peers.zone; z.nodes != 11 || z.reporting != 6 {
		t.Errorf("%d of %d report, want 6 of 11", z.reporting, z.nodes)
	}
}

// If the cloud calls an instance present after it has called it absent, that is remembered.
func TestAnswerThatIsTakenBackIsRemembered(t *testing.T) {
	l := newLedger()
	for _, a := range []answer{said(present), said(absent), said(absent)} {
		l.record(n1, a, noon)
	}
	if got := l.recanted[kinOf(n1)]; !got.IsZero() {
		t.Errorf("taken back at %v, want never", got)
	}
	l.record(n1, said(present), noon)
	if got := l.recanted[kinOf(n1)]; !got.Equal(noon) {
		t.Errorf("taken back at %v, want %v", got, noon)
	}
}
