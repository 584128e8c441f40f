package nodelifecycle

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"
)

func TestAbsentFor(t *testing.T) {
	aged := func(age time.Duration) func(*corev1.Node) {
		return func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(noon.Add(-age)) }
	}
	for _, tt := range []struct {
		name string
		node *corev1.Node
		edit func(*Limits)
		want time.Duration
	}{
		{"OldNodeIsAbsentForThirtySeconds", old("n1"), nil, 30 * time.Second},
		{"YoungNodeIsAbsentForTwoMinutes", old("n1", aged(5*time.Minute-time.Second)), nil, 2 * time.Minute},
		{"NodeOfFiveMinutesIsNotYoung", old("n1", aged(5*time.Minute)), nil, 30 * time.Second},
		{"UninitialisedNodeIsAbsentForTwoMinutes", old("n1", taint(api.TaintExternalCloudProvider)), nil, 2 * time.Minute},
		{"YoungNodeIsNeverAbsentForLess", old("n1", aged(0)), func(l *Limits) { l.AbsentFor = time.Hour }, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			limits := DefaultLimits()
			if tt.edit != nil {
				tt.edit(&limits)
			}
			if got := limits.absentFor(tt.node, noon); got != tt.want {
				t.Errorf("absentFor = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestAnnouncements(t *testing.T) {
	byDefault, condition := DefaultLimits(), condition(corev1.NodeDrained, corev1.ConditionTrue)
	byCondition := byDefault
	byCondition.AnnouncedByConditions = true
	for _, tt := range []struct {
		name               string
		limits             Limits
		edit               func(*corev1.Node)
		tainted, announced bool
	}{
		{"ClusterAutoscaler", byDefault, taint("ToBeDeletedByClusterAutoscaler"), true, true},
		{"Karpenter", byDefault, taint("karpenter.sh/disrupted"), true, true},
		{"SpotInterruptionOfAWS", byDefault, taint("aws-node-termination-handler/spot-itn"), true, true},
		{"TerminationOfAGroupOfAWS", byDefault, taint("aws-node-termination-handler/asg-lifecycle-termination"), true, true},
		{"RebalanceRecommendationIsNone", byDefault, taint("aws-node-termination-handler/rebalance-recommendation"), false, false},
		{"ScheduledMaintenanceIsNone", byDefault, taint("aws-node-termination-handler/scheduled-maintenance"), false, false},
		{"TerminationHandlerOfGoogleCloud", byDefault, taint("cloud.google.com/impending-node-termination"), true, true},
		{"OutOfService", byDefault, taint("node.kubernetes.io/out-of-service"), true, true},
		{"SilenceIsNone", byDefault, taint("node.kubernetes.io/unreachable"), false, false},
		{"TaintOfTheFlag", Limits{AnnouncedByTaints: []string{"a", "b"}}, taint("b"), true, true},
		{"EmptyFlag", Limits{}, taint("karpenter.sh/disrupted"), false, false},
		{"ConditionIsNoneByDefault", byDefault, condition, false, false},
		{"ConditionByFlag", byCondition, condition, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			node := old("n1", tt.edit)
			if tainted, announced := tt.limits.isTainted(node), tt.limits.isAnnounced(node); tainted != tt.tainted || announced != tt.announced {
				t.Errorf("tainted %v and announced %v, want %v and %v", tainted, announced, tt.tainted, tt.announced)
			}
		})
	}
}

func TestShare(t *testing.T) {
	for _, tt := range []struct{ nodes, want int }{{0, 3}, {30, 3}, {39, 3}, {40, 4}, {500, 50}} {
		if got := (Share{Nodes: 3, Percent: 10}).of(tt.nodes); got != tt.want {
			t.Errorf("3 or 10 %% of %d Nodes = %d, want %d", tt.nodes, got, tt.want)
		}
	}
}
