package service

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

func tainted(key string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key}) }
}

func labelled(value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: value} }
}

func leaving(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} }

func TestBackends(t *testing.T) {
	ours := BackendPolicy{SkipUninitialized: true}
	for _, tt := range []struct {
		name   string
		policy BackendPolicy
		edit   func(*corev1.Node)
		is     bool
		wakes  bool // the change from an ordinary Node to this one asks for a new set
	}{
		{name: "OrdinaryNodeIsABackend", edit: func(*corev1.Node) {}, is: true},
		{name: "NodeThatIsNotReadyStays", edit: func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
		}, is: true},
		{name: "CordonedNodeStays", edit: func(n *corev1.Node) { n.Spec.Unschedulable = true }, is: true},
		{name: "ShutDownNodeStays", edit: tainted(api.TaintNodeShutdown), is: true},
		{name: "LabelledNodeIsExcluded", edit: labelled(""), wakes: true},
		{name: "LabelWithAnyValueExcludes", edit: labelled("yes"), wakes: true},
		{name: "LabelThatSaysFalseDoesNotExclude", edit: labelled("false"), is: true},
		{name: "NodeThatTheAutoscalerRemovesIsExcluded", edit: tainted(nodefact.TaintToBeDeleted)},
		{name: "TaintOfTheAutoscalerWakesIfAskedFor", policy: BackendPolicy{WakeOnTaint: true}, edit: tainted(nodefact.TaintToBeDeleted), wakes: true},
		{name: "NodeThatIsBeingDeletedIsExcluded", edit: leaving},
		{name: "DeletionWakesIfAskedFor", policy: BackendPolicy{WakeOnDeletion: true}, edit: leaving, wakes: true},
		{name: "UninitializedNodeWaits", policy: ours, edit: tainted(api.TaintExternalCloudProvider), wakes: true},
		{name: "UninitializedNodeIsABackendIfAnotherDaemonInitialisesNodes", edit: tainted(api.TaintExternalCloudProvider), is: true},
		{name: "AnotherProviderIDWakes", edit: func(n *corev1.Node) { n.Spec.ProviderID = "p://2" }, is: true, wakes: true},
		{name: "AnotherNodeOfTheNameWakes", edit: func(n *corev1.Node) { n.UID = "other" }, is: true, wakes: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.policy.isBackend(host("a", tt.edit)); got != tt.is {
				t.Errorf("is a backend: %v, want %v", got, tt.is)
			}
			if got := tt.policy.invalidates(host("a"), host("a", tt.edit)); got != tt.wakes {
				t.Errorf("wakes: %v, want %v", got, tt.wakes)
			}
			if got := tt.policy.invalidates(host("a", tt.edit), host("a")); got != tt.wakes {
				t.Errorf("the opposite change wakes: %v, want %v", got, tt.wakes)
			}
		})
	}
}
