package simulated

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider/kit"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// instances finds the instance of a Node by the Node's provider ID, or by the
// Node's name if it has no provider ID.
type instances struct{ cloud *Cloud }

var _ cloudprovider.InstancesV2 = (*instances)(nil)

// InstanceExists implements cloudprovider.InstancesV2.
func (i *instances) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	return i.cloud.machines().Exists(ctx, node)
}

// InstanceShutdown implements cloudprovider.InstancesV2.
func (i *instances) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	found, err := i.cloud.machines().Find(ctx, node)
	if err != nil {
		return false, err
	}
	return found.State == simulator.Stopping || found.State == simulator.Stopped, nil
}

// InstanceMetadata implements cloudprovider.InstancesV2.
func (i *instances) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	found, err := i.cloud.machines().Find(ctx, node)
	if err != nil {
		return nil, err
	}
	return metadata(found)
}

// machines finds the instances of Nodes.
func (c *Cloud) machines() kit.Instances[simulator.Instance] {
	return kit.Instances[simulator.Instance]{
		ParseID: instanceID,
		ByID: func(ctx context.Context, id string) (simulator.Instance, error) {
			found, err := ask(ctx, c, func(ctx context.Context, client *simulator.Client) (simulator.Instance, error) {
				return client.Instance(ctx, id)
			})
			if simulator.IsNotFound(err) {
				return found, cloudprovider.InstanceNotFound
			}
			return found, err
		},
		Named: func(ctx context.Context, name string) ([]simulator.Instance, error) {
			return c.findInstances(ctx, simulator.Query{Names: []string{name}})
		},
		Identify: func(i simulator.Instance) kit.Identity {
			return kit.Identity{ID: i.ID, Name: i.Name, Gone: i.State == simulator.Terminated}
		},
	}
}

func (c *Cloud) findInstances(ctx context.Context, query simulator.Query) ([]simulator.Instance, error) {
	return ask(ctx, c, func(ctx context.Context, client *simulator.Client) ([]simulator.Instance, error) {
		return client.FindInstances(ctx, query)
	})
}

func metadata(i simulator.Instance) (*cloudprovider.InstanceMetadata, error) {
	id, err := providerIDs.Print(i.Region, i.ID)
	if err != nil {
		return nil, err
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:       id,
		InstanceType:     i.Type,
		Zone:             i.Zone,
		Region:           i.Region,
		NodeAddresses:    nodeAddresses(i.Addresses),
		AdditionalLabels: maps.Clone(i.Labels),
	}, nil
}

func nodeAddresses(all []simulator.Address) []corev1.NodeAddress {
	var addresses []corev1.NodeAddress
	for _, a := range all {
		addresses = append(addresses, corev1.NodeAddress{Type: corev1.NodeAddressType(a.Type), Address: a.Address})
	}
	return addresses
}
