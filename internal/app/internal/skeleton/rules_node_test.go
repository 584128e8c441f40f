package skeleton

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// newNode returns an initialised Node whose kubelet reports.
func newNode(edits ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{}
	n.Name = "n"
	n.Spec.ProviderID = "p://1"
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	n.Status.Addresses = []corev1.NodeAddress{internal("10.0.0.1"), {Type: corev1.NodeHostName, Address: "n"}}
	for _, edit := range edits {
		edit(n)
	}
	return n
}

func internal(address string) corev1.NodeAddress {
	return corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address}
}

func silent(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }

func notReady(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }

func neverReady(n *corev1.Node) { n.Status.Conditions = nil }

func waiting(n *corev1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: api.TaintExternalCloudProvider, Effect: corev1.TaintEffectNoSchedule})
}

func shutDown(n *corev1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: api.TaintNodeShutdown, Effect: corev1.TaintEffectNoSchedule})
}

func told(ips string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Annotations = map[string]string{api.AnnotationAlphaProvidedIPAddr: ips} }
}

// The skeleton deletes a Node after a single answer "absent", but only if the Node is
// not Ready.
func TestMonitored(t *testing.T) {
	for _, tt := range []struct {
		name string
		node *corev1.Node
		said Existence
		want step.Effect
	}{
		{"ReadyNodeStays", newNode(), Absent, step.None},
		{"ReadyNodeLosesTheShutdownTaint", newNode(shutDown), Unknown, step.Update},
		{"SilentNodeIsDeletedAfterOneAnswer", newNode(silent), Absent, step.Delete},
		{"NotReadyNodeWithAFreshReportIsDeleted", newNode(notReady), Absent, step.Delete},
		{"NodeThatHasNeverReportedIsDeleted", newNode(neverReady), Absent, step.Delete},
		{"NodeThatWaitsIsDeleted", newNode(silent, waiting), Absent, step.Delete},
		{"NoAnswerNothing", newNode(silent), Unknown, step.None},
		{"RunningInstanceStays", newNode(silent), Running, step.None},
		{"ShutdownTaintStaysUntilReady", newNode(silent, shutDown), Running, step.None},
		{"ShutDownInstanceGetsTheTaint", newNode(silent), Down, step.Update},
		{"ShutdownTaintIsThereAlready", newNode(silent, shutDown), Down, step.None},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Monitored(tt.node, tt.said); got.Effect != tt.want || got.Object != "node/n" || got.Why == "" {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestInitialised(t *testing.T) {
	says := func(id string, addresses ...corev1.NodeAddress) *Description {
		return &Description{Instance: cloud.Metadata{ProviderID: id, Type: "large", Addresses: addresses}}
	}
	foreign := func(n *corev1.Node) { n.Spec.ProviderID = "k3s://n" }
	bare := func(n *corev1.Node) { n.Spec.ProviderID = "" }
	beta := func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelInstanceType: "small"} }
	sameBeta := func(n *corev1.Node) {
		n.Labels = map[string]string{corev1.LabelInstanceType: "small", corev1.LabelInstanceTypeStable: "small"}
	}
	ten := internal("10.0.0.1")
	for _, tt := range []struct {
		name string
		node *corev1.Node
		said *Description
		want step.Effect
	}{
		{"DescribedNodeIsInitialised", newNode(waiting, bare), says("p://1", ten), step.Create},
		{"ForeignProviderIDStays", newNode(waiting, foreign), says("p://1", ten), step.Create},
		{"NoProviderIDIsAnError", newNode(waiting, bare), says("", ten), step.Wait},
		{"NamelessProviderNeedsNone", newNode(waiting, bare), &Description{Instance: cloud.Metadata{Nameless: true}}, step.Create},
		{"RefusedNodeWaits", newNode(waiting), &Description{Err: errors.New("not found")}, step.Wait},
		{"NodeThatWasNotAskedAboutWaits", newNode(waiting), nil, step.Wait},
		{"AddressThatTheKubeletWasToldToUse", newNode(waiting, told("10.0.0.1")), says("p://1", ten, internal("10.0.0.2")), step.Create},
		{"AddressThatTheCloudDoesNotHave", newNode(waiting, told("10.0.0.9")), says("p://1", ten), step.Wait},
		{"UnreadableAddress", newNode(waiting, told("x")), says("p://1", ten), step.Wait},
		{"NoAddressesAreNotCompared", newNode(waiting, told("10.0.0.9")), says("p://1"), step.Create},
		{"BetaLabelIsTheSource", newNode(beta), nil, step.Update},
		{"EqualBetaLabelStays", newNode(sameBeta), nil, step.None},
		{"AddressesFollowTheCloud", newNode(), says("p://1", internal("10.0.0.2")), step.Update},
		{"EqualAddressesStay", newNode(), says("p://1", ten), step.None},
		{"CloudThatHasAHostname", newNode(), says("p://1", ten, corev1.NodeAddress{Type: corev1.NodeHostName, Address: "other"}), step.Update},
		{"OtherAddressesOfTheTypeAreDropped", newNode(told("10.0.0.1")), says("p://1", internal("10.0.0.2"), ten), step.None},
		{"NoAddressesStayAsTheyAre", newNode(), says("p://1"), step.None},
		{"TypeIsNotLookedAtAgain", newNode(sameBeta), says("p://1", ten), step.None},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Initialised(tt.node, tt.said); got.Effect != tt.want || got.Object != "node/n" || got.Why == "" {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}
