package static

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/provider/kit"
)

// machines describes Nodes by the configuration and by their own fields.
type machines struct{ config config }

var _ cloudprovider.InstancesV2 = machines{}

// InstanceExists implements cloudprovider.InstancesV2. It always returns true,
// even for Nodes of other providers, because this provider cannot know that a
// machine is gone.
func (m machines) InstanceExists(context.Context, *corev1.Node) (bool, error) { return true, nil }

// InstanceShutdown implements cloudprovider.InstancesV2. It returns NotImplemented,
// because this provider cannot know whether a machine is switched off. The answer false
// would make the daemon remove a taint that somebody else has set.
func (m machines) InstanceShutdown(context.Context, *corev1.Node) (bool, error) {
	return false, cloudprovider.NotImplemented
}

// InstanceMetadata implements cloudprovider.InstancesV2. If the Node does not
// belong to this provider, the error wraps cloudprovider.InstanceNotFound.
func (m machines) InstanceMetadata(_ context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	if len(node.Labels) == 0 {
		// Every kubelet labels its Node. A Node without labels is not a real Node: the daemon
		// passes such a Node to ask whether an instance with this name or ID exists.
		return nil, fmt.Errorf("node %s has no labels, and only labels say which machine it is: %w", node.Name, cloudprovider.NotImplemented)
	}
	found, ok := m.config.entryOf(node)
	if !ok {
		return nil, fmt.Errorf("no entry of nodes in --cloud-config selects node %s: %w", node.Name, cloudprovider.InstanceNotFound)
	}
	id, err := m.config.idOf(node)
	if err != nil {
		return nil, err
	}
	addresses, err := found.addressesOf(node)
	if err != nil {
		return nil, err
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:       id,
		InstanceType:     found.size,
		Zone:             found.zone,
		Region:           found.region,
		NodeAddresses:    addresses,
		AdditionalLabels: maps.Clone(found.labels),
	}, nil
}

// entryOf returns the first entry that selects the Node.
func (c config) entryOf(node *corev1.Node) (entry, bool) {
	for _, e := range c.entries {
		if e.selector.Matches(labels.Set(node.Labels)) {
			return e, true
		}
	}
	return entry{}, false
}

// idOf returns the Node's provider ID, or a new one if the Node has none. A Node
// keeps an ID of this provider when the template changes, because a provider ID can
// never be changed.
func (c config) idOf(node *corev1.Node) (string, error) {
	id := node.Spec.ProviderID
	switch {
	case c.keep && id == "":
		return "", kit.Invalidf("node %s has no provider ID, and providerID in --cloud-config is %s: start its kubelet with --provider-id, or give a template", node.Name, keepID)
	case id == "":
		return strings.Replace(c.template, namePlace, node.Name, 1), nil
	case c.keep || strings.HasPrefix(id, idPrefix):
		return id, nil
	default:
		return "", fmt.Errorf("node %s has the provider ID %q, which belongs to another provider; with providerID: %s in --cloud-config, any provider ID is kept: %w",
			node.Name, id, keepID, cloudprovider.InstanceNotFound)
	}
}

// addressesOf returns the internal addresses, followed by the external ones. The
// internal addresses come from --node-ip. Without that flag, they come from the
// Node's status.
func (e entry) addressesOf(node *corev1.Node) ([]corev1.NodeAddress, error) {
	// An invalid annotation of the kubelet is not an error here, because the daemon
	// itself reports it.
	addresses, err := listed(corev1.NodeInternalIP, node.Annotations[cloudproviderapi.AnnotationAlphaProvidedIPAddr])
	if err != nil || len(addresses) == 0 {
		addresses = nil
		for _, a := range node.Status.Addresses {
			if a.Type == corev1.NodeInternalIP {
				addresses = append(addresses, a)
			}
		}
	}
	if len(addresses) == 0 {
		return nil, kit.Invalidf("node %s has no internal IP address: start its kubelet with --node-ip", node.Name)
	}
	external, err := listed(corev1.NodeExternalIP, node.Annotations[e.external])
	if err != nil {
		return nil, kit.Invalidf("annotation %s of node %s: %v", e.external, node.Name, err)
	}
	return append(addresses, external...), nil
}

// listed parses IP addresses that are separated by commas. An empty text contains
// no addresses.
func listed(kind corev1.NodeAddressType, text string) ([]corev1.NodeAddress, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var addresses []corev1.NodeAddress
	for part := range strings.SplitSeq(text, ",") {
		ip, err := netip.ParseAddr(strings.TrimSpace(part))
		if err != nil || ip.Zone() != "" || ip.IsUnspecified() {
			return nil, fmt.Errorf("%q is not an IP address of a machine", part)
		}
		addresses = append(addresses, corev1.NodeAddress{Type: kind, Address: ip.Unmap().String()})
	}
	return addresses, nil
}
