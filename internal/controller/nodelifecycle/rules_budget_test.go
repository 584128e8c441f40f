package nodelifecycle

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

func TestBudget(t *testing.T) {
	long := gone(n1, 20, 10*time.Minute, 0)
	drained := old("n1", condition("Drained", corev1.ConditionTrue))
	byConditions := func(l *Limits) { l.AnnouncedByConditions = true }
	checkRows(t, []row{
		{name: "ThreeAreWithinTheBudget", memory: complete, peers: absentOf(3, 10), want: "enqueue for the final check: the absence is confirmed; again in 2m0s"},
		{name: "FourAreOverTheBudget", memory: complete, peers: absentOf(4, 10), want: "hold: TooManyAbsent; again in 1m0s; event NodeDeletionHeld"},
		{name: "TenPercentAreWithinTheBudget", memory: complete, peers: absentOf(10, 100), want: "enqueue for the final check: the absence is confirmed; again in 2m0s"},
		{name: "ElevenOfAHundredAreOverTheBudget", memory: complete, peers: absentOf(11, 100), want: "hold: TooManyAbsent; again in 1m0s; event NodeDeletionHeld"},
		{
			name: "UncheckedNodesCount", memory: complete, peers: func() cluster {
				r := absentOf(4, 10)
				for i := range r.nodes {
					r.nodes[i].presence, r.nodes[i].checked = unknown, false
				}
				return r
			}(), want: "hold: TooManyAbsent; again in 1m0s; event NodeDeletionHeld",
		},
		{name: "NodesAboutWhichTheLastAnswerIsOlderCount", memory: complete, peers: foundAgo(41, 50, 30, 60, 70), want: "hold: TooManyAbsent; again in 1m0s; event NodeDeletionHeld"},
		{name: "NodesAboutWhichTheLastAnswerIsNewerDoNotCount", memory: complete, peers: foundAgo(40, 39, 41, 40, 30), want: "enqueue for the final check: the absence is confirmed; again in 2m0s"},
		{
			name: "NodeItselfCounts", memory: complete, peers: func() cluster {
				r := absentOf(3, 10)
				r.nodes = append(r.nodes, other{node: n1, checked: true}) // the index does not have the Node's absence yet
				return r
			}(), want: "hold: TooManyAbsent; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name: "NodesOfAnotherProviderDoNotCount", memory: complete, peers: absentOf(40, 80, providerID("q://1")),
			want: "enqueue for the final check: the absence is confirmed; again in 2m0s",
		},
		{
			name: "NodesWithoutProviderIDsDoNotCountForThoseWithoutScheme", node: old("n1", providerID("n1")), memory: gone(old("n1", providerID("n1")), 4, 40*time.Second, 0),
			peers: absentOf(40, 80, providerID("")), want: "enqueue for the final check: the absence is confirmed; again in 2m0s",
		},
		{
			name: "ExcludedNodesDoNotCount", memory: complete, peers: absentOf(40, 80, label(ownership.LabelExclude, "")),
			want: "enqueue for the final check: the absence is confirmed; again in 2m0s",
		},
		{
			name: "AnnouncedNodesDoNotCount", memory: complete, peers: absentOf(40, 80, taint("ToBeDeletedByClusterAutoscaler")),
			want: "enqueue for the final check: the absence is confirmed; again in 2m0s",
		},
		{
			name: "AnnouncedNodeIsNotHeld", node: old("n1", taint("karpenter.sh/disrupted")), memory: complete, peers: absentOf(40, 80),
			want: "enqueue for the final check: the absence is confirmed; again in 2m0s",
		},
		{
			name: "DrainedNodeIsHeldByDefault", node: drained, memory: complete, peers: absentOf(40, 80),
			want: "hold: TooManyAbsent; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name: "DrainedNodesCountByDefault", memory: complete, peers: absentOf(40, 80, condition("Drained", corev1.ConditionTrue)),
			want: "hold: TooManyAbsent; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name: "DrainedNodeIsNotHeldByFlag", node: drained, memory: complete, peers: absentOf(40, 80), limits: byConditions,
			want: "enqueue for the final check: the absence is confirmed; again in 2m0s",
		},
		{
			name: "NodesInMaintenanceDoNotCountByFlag", memory: complete, peers: absentOf(40, 80, condition("MaintenanceInProgress", corev1.ConditionTrue)), limits: byConditions,
			want: "enqueue for the final check: the absence is confirmed; again in 2m0s",
		},
		{
			name: "NodeThatIsNotDrainedIsHeldByFlagToo", node: old("n1", condition("Drained", corev1.ConditionFalse)), memory: complete, peers: absentOf(40, 80), limits: byConditions,
			want: "hold: TooManyAbsent; again in 1m0s; event NodeDeletionHeld",
		},
		{
			name: "DrainedNodesAreDeletedAtABoundedRate", node: drained, memory: complete, peers: func() cluster {
				r := absentOf(40, 80, condition("Drained", corev1.ConditionTrue))
				for i := range 8 {
					r.deleted = append(r.deleted, noon.Add(time.Duration(i-50)*time.Second))
				}
				return r
			}(), limits: byConditions, want: "hold: DeletionRateLimited; again in 10s; event NodeDeletionHeld",
		},
		{
			name: "DrainedNodeThatATaintAnnouncesIsNotHeldByTheRate", node: old("n1", condition("Drained", corev1.ConditionTrue), taint("karpenter.sh/disrupted")), memory: complete, peers: func() cluster {
				r := absentOf(0, 80)
				for range 8 {
					r.deleted = append(r.deleted, noon)
				}
				return r
			}(), limits: byConditions, want: "enqueue for the final check: the absence is confirmed; again in 2m0s",
		},
		{name: "NodesOverTheBudgetMayBeDeletedAfterTenMinutes", memory: long, peers: absentOf(40, 80), want: "enqueue for the final check: the absence is confirmed; again in 2m0s"},
		{
			name: "NodesOverTheBudgetAreDeletedAtABoundedRate", memory: long, peers: func() cluster {
				r := absentOf(40, 80)
				for i := range 8 {
					r.deleted = append(r.deleted, noon.Add(time.Duration(i-50)*time.Second))
				}
				return r
			}(), want: "hold: DeletionRateLimited; again in 10s; event NodeDeletionHeld",
		},
		{
			name: "RateCountsDeletionsOfTheLastMinute", memory: long, peers: func() cluster {
				r := absentOf(40, 80)
				for i := range 8 {
					r.deleted = append(r.deleted, noon.Add(time.Duration(i-60)*time.Second))
				}
				return r
			}(), want: "enqueue for the final check: the absence is confirmed; again in 2m0s",
		},
	})
}

// foundAgo returns a cluster in which some Nodes are silent. The cloud said so many seconds
// ago that they exist.
func foundAgo(seconds ...int) cluster {
	c := absentOf(len(seconds), 10)
	for i, ago := range seconds {
		c.nodes[i].presence, c.nodes[i].ago = present, time.Duration(ago)*time.Second
	}
	return c
}
