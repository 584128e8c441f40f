package simulated

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// instances finds the instance of a Node by the Node's provider ID, or by the
// Node's name if it has no provider ID.
type instances struct{ cloud *Cloud }

var _ cloudprovider.InstancesV2 = (*instances)(nil)

// InstanceExists implements cloudprovider.InstancesV2.
func (i *instances) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	_, err := i.find(ctx, node)
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		return false, nil
	}
	return err == nil, err
}

// InstanceShutdown implements cloudprovider.InstancesV2.
func (i *instances) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	found, err := i.find(ctx, node)
	if err != nil {
		return false, err
	}
	return found.State == simulator.Stopping || found.State == simulator.Stopped, nil
}

// InstanceMetadata implements cloudprovider.InstancesV2.
func (i *instances) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	found, err := i.find(ctx, node)
	if err != nil {
		return nil, err
	}
	return metadata(found), nil
}

// find returns the instance of a Node, or an error that wraps
// cloudprovider.InstanceNotFound if the cloud said that it does not exist.
func (i *instances) find(ctx context.Context, node *corev1.Node) (simulator.Instance, error) {
	var none simulator.Instance
	if node.Spec.ProviderID == "" {
		return i.cloud.instanceNamed(ctx, node.Name)
	}
	id, err := instanceID(node.Spec.ProviderID)
	if err != nil {
		return none, err
	}
	found, err := ask(ctx, i.cloud, func(ctx context.Context, client *simulator.Client) (simulator.Instance, error) {
		return client.Instance(ctx, id)
	})
	switch {
	case simulator.IsNotFound(err):
		return none, absent("instance " + id)
	case err != nil:
		return none, fmt.Errorf("instance %s: %w", id, err)
	}
	return identified(id, []simulator.Instance{found})
}

// instanceNamed returns the only instance with the name. The error wraps
// cloudprovider.InstanceNotFound if the cloud said that it does not exist.
func (c *Cloud) instanceNamed(ctx context.Context, name string) (simulator.Instance, error) {
	found, err := c.findInstances(ctx, simulator.InstanceQuery{Names: []string{name}})
	if err != nil {
		return simulator.Instance{}, fmt.Errorf("instances named %s: %w", name, err)
	}
	return named(name, found)
}

func (c *Cloud) findInstances(ctx context.Context, query simulator.InstanceQuery) ([]simulator.Instance, error) {
	return ask(ctx, c, func(ctx context.Context, client *simulator.Client) ([]simulator.Instance, error) {
		return client.FindInstances(ctx, query)
	})
}

// identified returns the instance with the ID.
func identified(id string, among []simulator.Instance) (simulator.Instance, error) {
	for _, i := range among {
		if i.ID == id && i.State != simulator.Terminated {
			return i, nil
		}
	}
	return simulator.Instance{}, absent("instance " + id)
}

// named returns the only instance with the name. If there are two, it returns an
// error, because it is unknown which one belongs to the Node.
func named(name string, among []simulator.Instance) (simulator.Instance, error) {
	var ids []string
	var found simulator.Instance
	for _, i := range among {
		if i.Name == name && i.State != simulator.Terminated {
			found = i
			ids = append(ids, i.ID)
		}
	}
	switch len(ids) {
	case 0:
		return found, absent("instance named " + name)
	case 1:
		return found, nil
	}
	slices.Sort(ids)
	return simulator.Instance{}, invalidf("%d instances are named %s: %s", len(ids), name, strings.Join(ids, ", "))
}

func absent(what string) error { return fmt.Errorf("%s: %w", what, cloudprovider.InstanceNotFound) }

func metadata(i simulator.Instance) *cloudprovider.InstanceMetadata {
	return &cloudprovider.InstanceMetadata{
		ProviderID:       providerID(i.Region, i.ID),
		InstanceType:     i.Type,
		Zone:             i.Zone,
		Region:           i.Region,
		NodeAddresses:    nodeAddresses(i.Addresses),
		AdditionalLabels: maps.Clone(i.Labels),
	}
}

func nodeAddresses(all []simulator.Address) []corev1.NodeAddress {
	var addresses []corev1.NodeAddress
	for _, a := range all {
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeAddressType(a.Type), Address: a.Address})
	}
	return addresses
}
