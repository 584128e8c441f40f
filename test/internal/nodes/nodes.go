// Package nodes makes Nodes in the state in which kubelets register them, and in the
// state in which the daemon leaves them. It also checks Nodes.
package nodes

import (
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
)

// ConditionInitialized is the type of the condition that says why a Node waits.
const ConditionInitialized = corev1.NodeConditionType("CloudInitialized")

// New returns a Node in the state in which a kubelet would register it.
func New(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: api.TaintExternalCloudProvider, Value: "true", Effect: corev1.TaintEffectNoSchedule},
		}},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), Reason: "Test"}},
		},
	}
}

// Initialized returns an error while the Node has the taint.
func Initialized(node *corev1.Node) error {
	if IsTainted(node) {
		return errors.New("it has the taint")
	}
	return nil
}

// As returns a check of an initialised Node. The Node must have the provider ID and
// the labels of the instance, and exactly the given addresses. It must no longer have
// the taint of an uninitialised Node.
func As(i simulator.Instance, addresses ...corev1.NodeAddress) func(*corev1.Node) error {
	return func(node *corev1.Node) error {
		if err := Initialized(node); err != nil {
			return err
		}
		want := map[string]string{
			corev1.LabelInstanceType: i.Type, corev1.LabelInstanceTypeStable: i.Type,
			corev1.LabelFailureDomainBetaZone: i.Zone, corev1.LabelTopologyZone: i.Zone,
			corev1.LabelFailureDomainBetaRegion: i.Region, corev1.LabelTopologyRegion: i.Region,
		}
		maps.Copy(want, i.Labels)
		got := map[string]string{}
		for key := range want {
			got[key] = node.Labels[key]
		}
		return errors.Join(
			expect.Equal("provider ID", ProviderID(i), node.Spec.ProviderID),
			expect.Equal("labels", want, got),
			expect.Equal("addresses", addresses, node.Status.Addresses),
		)
	}
}

// ProviderID returns the provider ID that the simulated provider gives an instance.
func ProviderID(i simulator.Instance) string { return "simulated://" + i.Region + "/" + i.ID }

// Condition returns the condition ConditionInitialized of the Node, or nil if there
// is none.
func Condition(node *corev1.Node) *corev1.NodeCondition {
	n := slices.IndexFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == ConditionInitialized })
	if n < 0 {
		return nil
	}
	return &node.Status.Conditions[n]
}

// Missing lists the parts that the Node still needs before it may be released for
// scheduling. If nameless is true, the Node's provider has no provider IDs.
func Missing(node *corev1.Node, nameless bool) []string { //nolint:revive // flag-parameter: a fact of the provider
	var missing []string
	if node.Spec.ProviderID == "" && !nameless {
		missing = append(missing, "provider ID")
	}
	for _, label := range sixLabels {
		if node.Labels[label] == "" {
			missing = append(missing, "label "+label)
		}
	}
	if !slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Type == corev1.NodeInternalIP }) {
		missing = append(missing, "addresses")
	}
	return missing
}

// sixLabels are the labels of a Node's type and place.
var sixLabels = []string{
	corev1.LabelInstanceType, corev1.LabelInstanceTypeStable,
	corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone,
	corev1.LabelFailureDomainBetaRegion, corev1.LabelTopologyRegion,
}

// IsTainted reports whether the Node has the taint of a Node that is not initialised.
func IsTainted(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == api.TaintExternalCloudProvider })
}

// NewInitialized returns a Node that looks as if the daemon had initialised it.
func NewInitialized(i simulator.Instance) *corev1.Node {
	node := New(i.Name)
	node.Spec = corev1.NodeSpec{ProviderID: ProviderID(i)}
	for n, label := range sixLabels {
		node.Labels[label] = []string{i.Type, i.Zone, i.Region}[n/2]
	}
	node.Status.Addresses = AddressesOf(i)
	return node
}

// Addresses parses addresses of the form "InternalIP=10.0.0.1".
func Addresses(texts ...string) []corev1.NodeAddress {
	var all []corev1.NodeAddress
	for _, text := range texts {
		kind, address, _ := strings.Cut(text, "=")
		all = append(all, corev1.NodeAddress{Type: corev1.NodeAddressType(kind), Address: address})
	}
	return all
}

// CloudAddresses does the same as Addresses, for addresses of the simulated cloud.
func CloudAddresses(texts ...string) []simulator.Address {
	var all []simulator.Address
	for _, a := range Addresses(texts...) {
		all = append(all, simulator.Address{Type: simulator.AddressType(a.Type), Address: a.Address})
	}
	return all
}

// AddressesOf returns the addresses that the instance's Node must have: those of
// the instance, and the Hostname, which the kubelet sets to the Node's name.
func AddressesOf(i simulator.Instance) []corev1.NodeAddress {
	var all []corev1.NodeAddress
	for _, a := range i.Addresses {
		all = append(all, corev1.NodeAddress{Type: corev1.NodeAddressType(a.Type), Address: a.Address})
	}
	return append(all, corev1.NodeAddress{Type: corev1.NodeHostName, Address: i.Name})
}
