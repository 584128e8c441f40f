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

func TestShare(t *testing.T) {
	for _, tt := range []struct{ nodes, want int }{{0, 3}, {30, 3}, {39, 3}, {40, 4}, {500, 50}} {
		if got := (Share{Nodes: 3, Percent: 10}).of(tt.nodes); got != tt.want {
			t.Errorf("3 or 10 %% of %d Nodes = %d, want %d", tt.nodes, got, tt.want)
		}
	}
}
