package service

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"
)

func tainted(key string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key}) }
}

func labelled(value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: value} }
}

func TestBackends(t *testing.T) {
	ours := Choice{Uninitialized: true}
	for _, tt := range []struct {
		name   string
		choice Choice
		edit   func(*corev1.Node)
		is     bool
		wakes  bool // the change from an ordinary node to this one
	}{
		{name: "OrdinaryNode", edit: func(*corev1.Node) {}, is: true},
		{name: "NodeThatIsNotReadyStays", edit: func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
		}, is: true},
		{name: "CordonedNodeStays", edit: func(n *corev1.Node) { n.Spec.Unschedulable = true }, is: true},
		{name: "ShutDownNodeStays", edit: tainted(api.TaintNodeShutdown), is: true},
		{name: "ExcludedNode", edit: labelled(""), wakes: true},
		{name: "ExcludedByAnyValue", edit: labelled("yes"), wakes: true},
		{name: "ButNotByFalse", edit: labelled("false"), is: true},
		{name: "NodeThatTheAutoscalerRemoves", edit: tainted(taintToBeDeleted)},
		{name: "AtOnceIfAskedFor", choice: Choice{OnTaint: true}, edit: tainted(taintToBeDeleted), wakes: true},
		{name: "NodeThatIsBeingDeleted", edit: func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} }},
		{name: "ItToo", choice: Choice{OnDeletion: true}, edit: func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} }, wakes: true},
		{name: "UninitialisedNodeWaits", choice: ours, edit: tainted(api.TaintExternalCloudProvider), wakes: true},
		{name: "UnlessSomebodyElseInitialises", edit: tainted(api.TaintExternalCloudProvider), is: true},
		{name: "ProviderIDWakes", edit: func(n *corev1.Node) { n.Spec.ProviderID = "p://2" }, is: true, wakes: true},
		{name: "AnotherNodeOfTheName", edit: func(n *corev1.Node) { n.UID = "other" }, is: true, wakes: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.choice.isBackend(host("a", tt.edit)); got != tt.is {
				t.Errorf("is a backend: %v, want %v", got, tt.is)
			}
			if got := tt.choice.matters(host("a"), host("a", tt.edit)); got != tt.wakes {
				t.Errorf("wakes: %v, want %v", got, tt.wakes)
			}
		})
	}
}

func TestSetIsNamedByItsInstances(t *testing.T) {
	of := func(nodes ...*corev1.Node) string { return Choice{}.of(nodes).id }
	first := of(host("a"), host("b"))
	if of(host("b"), host("a", tainted("x"))) != first {
		t.Error("the order of the nodes and their taints make another set")
	}
	if of(host("a")) == first || of(host("a"), host("b", func(n *corev1.Node) { n.Spec.ProviderID = "p://c" })) == first {
		t.Error("other instances make the same set")
	}
	node := host("a")
	if s := (Choice{}).of([]*corev1.Node{node}); s.nodes[0] == node {
		t.Error("the informer's own node is handed out")
	}
}
