package nodelifecycle

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
)

func TestShutdownTaint(t *testing.T) {
	stops := answer{presence: present, asked: noon, power: shutDown}
	runs := answer{presence: present, asked: noon, power: running}
	tainted := func(edits ...func(*corev1.Node)) *corev1.Node {
		return old("n1", append(edits, taint("other"), taint(api.TaintNodeShutdown))...)
	}
	checkRows(t, []row{
		{name: "TaintGoesOn", node: old("n1", taint("other")), answer: stops, want: "nothing: the cloud says that the instance exists; again in 5s; taints other node.cloudprovider.kubernetes.io/shutdown"},
		{name: "TaintIsNotWrittenAgain", node: tainted(), answer: stops, want: "nothing: the cloud says that the instance exists; again in 5s"},
		{name: "TaintGoesOffWhenTheInstanceRunsAgain", node: tainted(), answer: runs, want: "nothing: the cloud says that the instance exists; again in 5s; taints other"},
		{name: "InstanceThatRunsNeedsNoWrite", answer: runs, want: "nothing: the cloud says that the instance exists; again in 5s"},
		{name: "UnknownPowerChangesNothing", node: tainted(), answer: said(present), want: "nothing: the cloud says that the instance exists; again in 5s"},
		{name: "AbsentSaysNothingAboutPower", node: tainted(), answer: said(absent), want: "hold: AbsenceUnconfirmed; again in 15s; event NodeDeletionHeld"},
		{name: "TaintGoesOffWhenTheKubeletReports", node: tainted(reports), want: "nothing: the kubelet is not silent: it reports; taints other"},
		{
			name: "TaintGoesOffWhenTheKubeletReportsNotReady", node: tainted(ready(corev1.ConditionFalse, 0)),
			want: "nothing: the kubelet is not silent: its last report is fresh; again in 10m0s; taints other",
		},
		{
			name: "TaintOfAnotherEffectIsNotOurs", node: old("n1", func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: api.TaintNodeShutdown, Effect: corev1.TaintEffectNoExecute}}
			}), answer: runs, want: "nothing: the cloud says that the instance exists; again in 5s",
		},
	})
}
