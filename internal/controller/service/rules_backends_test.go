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

func silent(n *corev1.Node) {
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
}

func reports(n *corev1.Node) {
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
}

func ending(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: "Terminating", Status: status}}
	}
}

func withIPs(ips ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: n.Name}}
		for _, ip := range ips {
			n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip})
		}
	}
}

func TestReplacedMachineIsNoticed(t *testing.T) {
	booted := func(boot, machine, system string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.NodeInfo = corev1.NodeSystemInfo{BootID: boot, MachineID: machine, SystemUUID: system}
		}
	}
	recreated := func(n *corev1.Node) { n.UID = "other" }
	for _, tt := range []struct {
		name        string
		before, now *corev1.Node
		want        bool
	}{
		{"ReportsAgain", host("a", silent), host("a", reports), true},
		{"ReportsAgainAfterABoot", host("a", silent, booted("1", "m", "s")), host("a", reports, booted("2", "m", "s")), true},
		{"ReportsAgainWithoutABoot", host("a", silent, booted("1", "m", "s")), host("a", reports, booted("1", "m", "s")), false},
		{"BootsWithoutASilence", host("a", reports, booted("1", "m", "s")), host("a", reports, booted("2", "m", "s")), false},
		{"AnotherMachineID", host("a", reports, booted("1", "m", "s")), host("a", reports, booted("2", "n", "s")), true},
		{"AnotherSystemUUID", host("a", reports, booted("1", "m", "s")), host("a", reports, booted("2", "m", "t")), true},
		{"FirstReport", host("a"), host("a", reports, booted("1", "m", "s")), false},
		{"FallsSilent", host("a", reports), host("a", silent), false},
		{"StaysSilent", host("a", silent, booted("1", "m", "s")), host("a", silent, booted("2", "m", "s")), false},
		{"RecreatedNodeIsAnotherNode", host("a", silent), host("a", reports, recreated), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := isReplaced(tt.before, tt.now); got != tt.want {
				t.Errorf("replaced: %v, want %v", got, tt.want)
			}
			if tt.want && !(BackendPolicy{}).invalidates(tt.before, tt.now) {
				t.Error("no new set is made")
			}
		})
	}
}

func TestBackends(t *testing.T) {
	ours := BackendPolicy{SkipUninitialized: true}
	ends := BackendPolicy{LeaveOn: []corev1.NodeConditionType{"Draining", "Terminating"}}
	for _, tt := range []struct {
		name   string
		policy BackendPolicy
		edit   func(*corev1.Node)
		is     bool
		wakes  bool // the change from an ordinary Node to this one asks for a new set
		// wakesBack means that only the opposite change asks for a new set.
		wakesBack bool
	}{
		{name: "OrdinaryNodeIsABackend", edit: func(*corev1.Node) {}, is: true},
		{name: "NodeThatIsNotReadyStays", edit: silent, is: true, wakesBack: true},
		{name: "CordonedNodeStays", edit: func(n *corev1.Node) { n.Spec.Unschedulable = true }, is: true},
		{name: "ShutDownNodeStays", edit: tainted(api.TaintNodeShutdown), is: true},
		{name: "LabelledNodeIsExcluded", edit: labelled(""), wakes: true},
		{name: "LabelWithAnyValueExcludes", edit: labelled("yes"), wakes: true},
		{name: "LabelThatSaysFalseDoesNotExclude", edit: labelled("false"), is: true},
		{name: "NodeThatTheAutoscalerRemovesIsExcluded", edit: tainted(nodefact.TaintToBeDeleted), wakesBack: true},
		{name: "TaintOfTheAutoscalerWakesIfAskedFor", policy: BackendPolicy{WakeOnTaint: true}, edit: tainted(nodefact.TaintToBeDeleted), wakes: true},
		{name: "NodeThatIsBeingDeletedIsExcluded", edit: leaving, wakesBack: true},
		{name: "DeletionWakesIfAskedFor", policy: BackendPolicy{WakeOnDeletion: true}, edit: leaving, wakes: true},
		{name: "ConditionRemovesIfAskedFor", policy: ends, edit: ending(corev1.ConditionTrue), wakes: true},
		{name: "ConditionThatIsNotKnownStays", policy: ends, edit: ending(corev1.ConditionUnknown), is: true},
		{name: "ConditionThatNobodyAskedForStays", edit: ending(corev1.ConditionTrue), is: true},
		{name: "UninitializedNodeWaits", policy: ours, edit: tainted(api.TaintExternalCloudProvider), wakes: true},
		{name: "UninitializedNodeIsABackendIfAnotherDaemonInitialisesNodes", edit: tainted(api.TaintExternalCloudProvider), is: true},
		{name: "AnotherProviderIDWakes", edit: func(n *corev1.Node) { n.Spec.ProviderID = "p://2" }, is: true, wakes: true},
		{name: "IPAddressWakes", edit: withIPs("10.0.0.1"), is: true, wakes: true},
		{name: "NameOfTheHostDoesNotWake", edit: withIPs(), is: true},
		{name: "AnotherNodeOfTheNameWakes", edit: func(n *corev1.Node) { n.UID = "other" }, is: true, wakes: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.policy.isBackend(host("a", tt.edit)); got != tt.is {
				t.Errorf("is a backend: %v, want %v", got, tt.is)
			}
			if got := tt.policy.invalidates(host("a"), host("a", tt.edit)); got != tt.wakes {
				t.Errorf("wakes: %v, want %v", got, tt.wakes)
			}
			if got, want := tt.policy.invalidates(host("a", tt.edit), host("a")), tt.wakes || tt.wakesBack; got != want {
				t.Errorf("the opposite change wakes: %v, want %v", got, want)
			}
		})
	}
}

func TestOrderOfAddressesMakesNoNewSet(t *testing.T) {
	if (BackendPolicy{}).invalidates(host("a", withIPs("10.0.0.1", "fd00::1")), host("a", withIPs("fd00::1", "10.0.0.1"))) {
		t.Error("the same addresses in another order ask for a new set")
	}
}
