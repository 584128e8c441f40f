package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/examples/provider/cloud"
)

// instances implements cloudprovider.InstancesV2.
type instances struct{ api cloud.API }

var _ cloudprovider.InstancesV2 = (*instances)(nil)

// InstanceExists implements cloudprovider.InstancesV2. False without an error
// means that the machine no longer exists: the Node will be deleted.
func (i *instances) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	_, err := i.find(ctx, node)
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		return false, nil
	}
	return err == nil, err
}

// InstanceShutdown implements cloudprovider.InstancesV2. A machine that is shut
// down keeps its Node, which gets a taint.
func (i *instances) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	found, err := i.find(ctx, node)
	return found.State == cloud.Stopping || found.State == cloud.Stopped, err
}

// InstanceMetadata implements cloudprovider.InstancesV2: what is written to the
// Node before it is released for pods.
func (i *instances) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	found, err := i.find(ctx, node)
	if err != nil {
		return nil, err
	}
	var addresses []corev1.NodeAddress
	for _, a := range found.Addresses {
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeAddressType(a.Type), Address: a.Address})
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:       providerID(found.Region, found.ID),
		InstanceType:     found.Type,
		Zone:             found.Zone,
		Region:           found.Region,
		NodeAddresses:    addresses,
		AdditionalLabels: maps.Clone(found.Labels),
	}, nil
}

// find returns the instance of a Node. It finds it by the Node's provider ID, or by
// its name if the Node has no provider ID yet. The error wraps
// cloudprovider.InstanceNotFound if the cloud said that it does not exist.
func (i *instances) find(ctx context.Context, node *corev1.Node) (cloud.Instance, error) {
	if node.Spec.ProviderID == "" {
		return i.named(ctx, node.Name)
	}
	id, err := instanceID(node.Spec.ProviderID)
	if err != nil {
		return cloud.Instance{}, err
	}
	found, err := i.api.Instance(ctx, id)
	if errors.Is(err, cloud.ErrNotFound) || err == nil && found.State == cloud.Terminated {
		return cloud.Instance{}, fmt.Errorf("instance %s: %w", id, cloudprovider.InstanceNotFound)
	}
	return found, err
}

// named returns the only instance with that name. If there are two, it returns an
// error, because it is unknown which one belongs to the Node.
func (i *instances) named(ctx context.Context, name string) (cloud.Instance, error) {
	all, err := i.api.InstancesNamed(ctx, name)
	if err != nil {
		return cloud.Instance{}, err
	}
	var found []cloud.Instance
	for _, instance := range all {
		if instance.Name == name && instance.State != cloud.Terminated {
			found = append(found, instance)
		}
	}
	switch len(found) {
	case 0:
		return cloud.Instance{}, fmt.Errorf("instance named %s: %w", name, cloudprovider.InstanceNotFound)
	case 1:
		return found[0], nil
	}
	return cloud.Instance{}, invalidf("%d instances are named %s", len(found), name)
}
