package main

import (
	"context"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// older implements cloudprovider.Instances, which is older than InstancesV2.
type older struct{ cloud *cloud }

var errUnnamed = errors.New("this provider does not know instances by an ID")

// InstanceID implements cloudprovider.Instances.
func (o older) InstanceID(ctx context.Context, node types.NodeName) (string, error) {
	if o.cloud.kind == legacyWithoutID {
		return "", cloudprovider.NotImplemented
	}
	i, err := o.cloud.named(ctx, string(node))
	return i.Region + "/" + i.ID, err
}

// identified returns the instance with the provider ID.
func (o older) identified(ctx context.Context, providerID string) (simulator.Instance, error) {
	path, ok := strings.CutPrefix(providerID, name+"://")
	if !ok || o.cloud.kind == legacyWithoutID {
		return simulator.Instance{}, errUnnamed
	}
	_, id, _ := strings.Cut(path, "/")
	i, err := o.cloud.client.Instance(ctx, id)
	if simulator.IsNotFound(err) {
		return i, cloudprovider.InstanceNotFound
	}
	return i, err
}

// NodeAddresses implements cloudprovider.Instances.
func (o older) NodeAddresses(ctx context.Context, node types.NodeName) ([]corev1.NodeAddress, error) {
	i, err := o.cloud.named(ctx, string(node))
	return addressesOf(i), err
}

// NodeAddressesByProviderID implements cloudprovider.Instances.
func (o older) NodeAddressesByProviderID(ctx context.Context, providerID string) ([]corev1.NodeAddress, error) {
	i, err := o.identified(ctx, providerID)
	return addressesOf(i), err
}

func addressesOf(i simulator.Instance) []corev1.NodeAddress {
	var all []corev1.NodeAddress
	for _, a := range i.Addresses {
		all = append(all, corev1.NodeAddress{Type: corev1.NodeAddressType(a.Type), Address: a.Address})
	}
	return all
}

// InstanceType implements cloudprovider.Instances.
func (o older) InstanceType(ctx context.Context, node types.NodeName) (string, error) {
	i, err := o.cloud.named(ctx, string(node))
	return i.Type, err
}

// InstanceTypeByProviderID implements cloudprovider.Instances.
func (o older) InstanceTypeByProviderID(ctx context.Context, providerID string) (string, error) {
	i, err := o.identified(ctx, providerID)
	return i.Type, err
}

// InstanceExistsByProviderID implements cloudprovider.Instances.
func (o older) InstanceExistsByProviderID(ctx context.Context, providerID string) (bool, error) {
	_, err := o.identified(ctx, providerID)
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		return false, nil
	}
	return err == nil, err
}

// InstanceShutdownByProviderID implements cloudprovider.Instances.
func (o older) InstanceShutdownByProviderID(context.Context, string) (bool, error) {
	return false, cloudprovider.NotImplemented
}

// AddSSHKeyToAllInstances implements cloudprovider.Instances.
func (o older) AddSSHKeyToAllInstances(context.Context, string, []byte) error {
	return cloudprovider.NotImplemented
}

// CurrentNodeName implements cloudprovider.Instances.
func (o older) CurrentNodeName(context.Context, string) (types.NodeName, error) {
	return "", cloudprovider.NotImplemented
}

// zones implements the older interface for zones and regions.
type zones struct{ older older }

func zoneOf(i simulator.Instance) cloudprovider.Zone {
	return cloudprovider.Zone{FailureDomain: i.Zone, Region: i.Region}
}

// GetZone implements cloudprovider.Zones.
func (z zones) GetZone(context.Context) (cloudprovider.Zone, error) {
	return cloudprovider.Zone{}, cloudprovider.NotImplemented
}

// GetZoneByProviderID implements cloudprovider.Zones.
func (z zones) GetZoneByProviderID(ctx context.Context, providerID string) (cloudprovider.Zone, error) {
	i, err := z.older.identified(ctx, providerID)
	return zoneOf(i), err
}

// GetZoneByNodeName implements cloudprovider.Zones.
func (z zones) GetZoneByNodeName(ctx context.Context, node types.NodeName) (cloudprovider.Zone, error) {
	i, err := z.older.cloud.named(ctx, string(node))
	return zoneOf(i), err
}
