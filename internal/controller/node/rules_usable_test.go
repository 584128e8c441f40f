package node

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestProviderIDsThatNameNothing(t *testing.T) {
	for id, unusable := range map[string]bool{
		"": false, "p://1": false, "p:///zone/1": false, "p:////project/zone/1": false, "1": false, "p://a b": false, "p://nil": false, "p://100%": false,
		"p://": true, "p:///": true, " ": true, "\t\n": true, "p:// ": true, "p:///zone/": true, "/": true,
		"p://<nil>": true, "p:///<nil>/1": true, "p://%!s(<nil>)": true, "p://%!d(string=a)": true, "p://\x00": true,
	} {
		if got := isUnusableID(id); got != unusable {
			t.Errorf("isUnusableID(%q) = %v", id, got)
		}
	}
}

func TestAddressesThatAreNone(t *testing.T) {
	for _, tt := range []struct {
		kind     corev1.NodeAddressType
		address  string
		unusable bool
	}{
		{corev1.NodeInternalIP, "10.0.0.1", false},
		{corev1.NodeInternalIP, "010.000.000.001", false}, // Upstream accepts it.
		{corev1.NodeExternalIP, "fd00::1", false},
		{corev1.NodeInternalIP, "fe80::1%eth0", false},
		{corev1.NodeInternalIP, "", true},
		{corev1.NodeExternalIP, "<nil>", true},
		{corev1.NodeExternalIP, "2a01:db8::/64", true},
		{corev1.NodeInternalIP, "10.0.0.1/24", true},
		{corev1.NodeInternalIP, "10.0.0.1:80", true},
		{corev1.NodeInternalIP, "0.0.0.0", true},
		{corev1.NodeInternalIP, "::", true},
		{corev1.NodeInternalIP, "n1.example.com", true},
		{corev1.NodeHostName, "n1", false},
		{corev1.NodeInternalDNS, "_any_ name", false},
		{corev1.NodeHostName, "", true},
		{corev1.NodeExternalDNS, " ", true},
		{corev1.NodeExternalDNS, "<nil>.example.com", true},
	} {
		got := unusableAddresses(instance{addresses: []corev1.NodeAddress{internal, {Type: tt.kind, Address: tt.address}}})
		if (len(got) == 1) != tt.unusable {
			t.Errorf("%s %q: unusable are %v", tt.kind, tt.address, got)
		}
	}
}

func TestWhichNodeWaitsForItsTwin(t *testing.T) {
	second := func(edits ...func(*corev1.Node)) *corev1.Node {
		n := settled(append([]func(*corev1.Node){func(n *corev1.Node) { n.Name, n.UID = "n2", "u2" }, created(noon)}, edits...)...)
		return n
	}
	registered := func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{uninitialized} }
	for _, tt := range []struct {
		name  string
		other *corev1.Node
		want  bool
	}{
		{"NodeThatReports", second(reporting(corev1.ConditionTrue)), true},
		{"NodeThatIsNotReadyReportsToo", second(reporting(corev1.ConditionFalse)), true},
		{"SilentNodeMayBeTheSameMachine", second(reporting(corev1.ConditionUnknown)), false},
		{"NodeThatHasNeverReported", second(), false},
		{"NodeThatIsBeingDeleted", second(reporting(corev1.ConditionTrue), func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: noon} }), false},
		{"TheNodeItself", second(reporting(corev1.ConditionTrue), func(n *corev1.Node) { n.Name = "n1" }), false},
		{"OlderNodeThatWaitsToo", second(reporting(corev1.ConditionTrue), registered, created(noon.Add(-time.Hour))), true},
		{"YoungerNodeWaitsForThisOne", second(reporting(corev1.ConditionTrue), registered, created(noon.Add(time.Hour))), false},
	} {
		if got := isTwin(fresh(created(noon)), tt.other); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func created(at time.Time) func(*corev1.Node) {
	return func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(at) }
}
