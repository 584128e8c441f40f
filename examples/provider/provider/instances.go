package provider

import (
	"context"
	"errors"
	"maps"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	fairlead "github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/provider/kit"

	"github.com/fairlead-k8s/fairlead/examples/provider/cloud"
)

// instances implements cloudprovider.InstancesV2.
type instances struct{ api cloud.API }

var _ cloudprovider.InstancesV2 = (*instances)(nil)

// InstanceExists implements cloudprovider.InstancesV2. If it returns false and
// no error, the machine no longer exists, and its Node will be deleted.
func (i *instances) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	return i.machines().Exists(ctx, node)
}

// InstanceShutdown implements cloudprovider.InstancesV2. If a machine is shut
// down, its Node is kept and gets a taint.
func (i *instances) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	found, err := i.machines().Find(ctx, node)
	return found.State == cloud.Stopping || found.State == cloud.Stopped, err
}

// InstanceMetadata implements cloudprovider.InstancesV2. The daemon writes the
// result to the Node before pods can be scheduled to the Node.
func (i *instances) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	found, err := i.machines().Find(ctx, node)
	if err != nil {
		return nil, err
	}
	id, err := providerIDs.Print(found.Region, found.ID)
	if err != nil {
		return nil, err
	}
	var addresses []corev1.NodeAddress
	for _, a := range found.Addresses {
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeAddressType(a.Type), Address: a.Address})
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:       id,
		InstanceType:     found.Type,
		Zone:             found.Zone,
		Region:           found.Region,
		NodeAddresses:    addresses,
		AdditionalLabels: maps.Clone(found.Labels),
	}, nil
}

var _ fairlead.Terminations = (*instances)(nil)

// InstanceTermination implements Fairlead's optional interface provider.Terminations. If the
// cloud lists a machine as terminated, its Node is deleted at once. Remove this method if
// your cloud lists no terminated machines.
func (i *instances) InstanceTermination(ctx context.Context, node *corev1.Node) (fairlead.Termination, error) {
	ended, found, err := i.machines().FindGone(ctx, node)
	if !found {
		return fairlead.Termination{}, err
	}
	return fairlead.Termination{ProviderID: node.Spec.ProviderID, At: ended.TerminatedAt}, nil
}

// machines finds the instances of Nodes: by the Node's provider ID, or by the
// Node's name if it has no provider ID yet.
func (i *instances) machines() kit.Instances[cloud.Instance] {
	return kit.Instances[cloud.Instance]{
		ParseID: func(providerID string) (string, error) {
			parts, err := providerIDs.Parse(providerID)
			return parts["id"], err
		},
		ByID: func(ctx context.Context, id string) (cloud.Instance, error) {
			found, err := i.api.Instance(ctx, id)
			if errors.Is(err, cloud.ErrNotFound) {
				return found, cloudprovider.InstanceNotFound // the cloud said so, and the Node may be deleted
			}
			return found, err
		},
		Named: i.api.InstancesNamed,
		Identify: func(instance cloud.Instance) kit.Identity {
			return kit.Identity{ID: instance.ID, Name: instance.Name, Gone: instance.State == cloud.Terminated}
		},
	}
}
