package nodefact

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"
)

func TestIsExcluded(t *testing.T) {
	now := metav1.Now()
	for name, c := range map[string]struct {
		meta metav1.ObjectMeta
		want bool
	}{
		"OrdinaryNode":           {metav1.ObjectMeta{}, false},
		"NodeThatIsBeingDeleted": {metav1.ObjectMeta{DeletionTimestamp: &now}, true},
		"LabelWithoutValue":      {metav1.ObjectMeta{Labels: map[string]string{LabelExclude: ""}}, true},
		"LabelThatSaysTrue":      {metav1.ObjectMeta{Labels: map[string]string{LabelExclude: "true"}}, true},
		"LabelThatSaysFalse":     {metav1.ObjectMeta{Labels: map[string]string{LabelExclude: "False"}}, false},
		"LabelWithAnotherValue":  {metav1.ObjectMeta{Labels: map[string]string{LabelExclude: "mine"}}, true},
		"AnotherLabel":           {metav1.ObjectMeta{Labels: map[string]string{"fairlead.dev/excluded": ""}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			why, got := IsExcluded(&corev1.Node{ObjectMeta: c.meta})
			if got != c.want || got != (why != "") {
				t.Errorf("got %v (%q), want %v", got, why, c.want)
			}
		})
	}
}

func TestTaints(t *testing.T) {
	for key, want := range map[string]struct{ uninitialized, announced bool }{
		api.TaintExternalCloudProvider:   {uninitialized: true},
		"ToBeDeletedByClusterAutoscaler": {announced: true},
		"karpenter.sh/disrupted":         {announced: true},
		"node.kubernetes.io/not-ready":   {},
		"":                               {},
	} {
		t.Run(key, func(t *testing.T) {
			node := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "first"}, {Key: key, Value: "1"}}}}
			if got := IsUninitialized(node); got != want.uninitialized {
				t.Errorf("IsUninitialized: got %v, want %v", got, want.uninitialized)
			}
			if got := IsAnnounced(node); got != want.announced {
				t.Errorf("IsAnnounced: got %v, want %v", got, want.announced)
			}
		})
	}
}

func TestScheme(t *testing.T) {
	for id, want := range map[string]string{
		"":                    "",
		"i-1":                 "",
		"aws:///eu-1a/i-1":    "aws",
		"hcloud://1":          "hcloud",
		"a://b://c":           "a",
		"openstack:///a-b-c":  "openstack",
		"://nothing-names-me": "",
	} {
		if got := Scheme(&corev1.Node{Spec: corev1.NodeSpec{ProviderID: id}}); got != want {
			t.Errorf("Scheme(%q) = %q, want %q", id, got, want)
		}
	}
}

func TestCondition(t *testing.T) {
	node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Reason: "one"}, {Type: corev1.NodeDiskPressure, Reason: "two"},
	}}}
	if got := Condition(node, corev1.NodeDiskPressure); got == nil || got.Reason != "two" {
		t.Errorf("got %v, want the second condition", got)
	}
	if got := Condition(node, corev1.NodeNetworkUnavailable); got != nil {
		t.Errorf("got %v, want none", got)
	}
}
