package nodelifecycle

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

func TestSilence(t *testing.T) {
	checkRows(t, []row{
		{name: "ReadyNodeIsNotAskedAbout", node: old("n1", reports), want: "nothing: the kubelet is not silent: it reports"},
		{name: "UnknownIsSilentAtOnce", want: "ask the cloud: the kubelet is silent: Ready is Unknown"},
		{
			name: "FreshNotReadyIsAReport", node: old("n1", ready(corev1.ConditionFalse, time.Minute)),
			want: "nothing: the kubelet is not silent: its last report is fresh; again in 9m0s",
		},
		{
			name: "NotReadyWithinTheLimitIsAReport", node: old("n1", ready(corev1.ConditionFalse, 6*time.Minute)),
			want: "nothing: the kubelet is not silent: its last report is fresh; again in 4m0s",
		},
		{
			name: "NotReadyWithoutAHeartbeatCountsFromTheCreation", node: old("n1", func(n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
			}),
			want: "ask the cloud: the kubelet is silent: it has never sent a heartbeat",
		},
		{
			name: "NewNodeWithoutAHeartbeatIsNotSilent", node: old("n1", neverReported(time.Minute), func(n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
			}),
			want: "nothing: the kubelet is not silent: its last report is fresh; again in 9m0s",
		},
		{
			name: "NewNodeWithoutReportIsNotSilent", node: old("n1", neverReported(time.Minute)),
			want: "nothing: the kubelet is not silent: its last report is fresh; again in 9m0s",
		},
		{
			name: "OldNodeWithoutReportIsSilent", node: old("n1", neverReported(time.Hour)),
			want: "ask the cloud: the kubelet is silent: it has never reported",
		},
		{
			name: "TerminatingNodeIsLeftAlone", node: old("n1", func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} }),
			memory: complete, want: "nothing: the Node is being deleted",
		},
		{
			name: "ExcludedNodeIsLeftAlone", node: old("n1", label(ownership.LabelExclude, "")),
			memory: complete, want: "nothing: the Node is labelled fairlead.dev/exclude",
		},
		{
			name: "LabelOfAKubeletKeepsNoNodeWithTheFlag", node: old("n1", label(ownership.LabelExclude, "")), claim: ownership.Claim{RestrictedLabels: true},
			want: "ask the cloud: the kubelet is silent: Ready is Unknown",
		},
		{
			name: "NodeThatTheOperatorExcludesIsLeftAlone", node: old("n1", label(ownership.LabelExcludeRestricted, "")), claim: ownership.Claim{RestrictedLabels: true},
			memory: complete, want: "nothing: the Node is labelled " + ownership.LabelExcludeRestricted,
		},
	})
}
