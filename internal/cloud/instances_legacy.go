package cloud

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// legacy asks a provider that has the older interfaces Instances and Zones. It makes
// the same calls in the same order as upstream (upstream-behaviour 3.3): first with the
// provider ID and, if that fails, with the name.
type legacy struct {
	gateway   *Gateway
	instances cloudprovider.Instances
	zones     cloudprovider.Zones // nil: no zones
	provider  string
}

func (p legacy) metadata(ctx context.Context, c call, node *corev1.Node) (Metadata, error) {
	m, err := p.named(ctx, c, node)
	if err != nil {
		return Metadata{}, err
	}
	name := types.NodeName(node.Name)
	if m.Addresses, m.MoreAddresses, err = p.addresses(ctx, c, m.ProviderID, name); err != nil {
		return Metadata{}, err
	}
	if m.Type, err = p.instanceType(ctx, c, m.ProviderID, name); err != nil || p.zones == nil {
		return m, err
	}
	zone, err := either(ctx, p.gateway, c,
		way[cloudprovider.Zone]{"GetZoneByProviderID", func(ctx context.Context) (cloudprovider.Zone, error) {
			return p.zones.GetZoneByProviderID(ctx, m.ProviderID)
		}},
		way[cloudprovider.Zone]{"GetZoneByNodeName", func(ctx context.Context) (cloudprovider.Zone, error) {
			return p.zones.GetZoneByNodeName(ctx, name)
		}})
	m.Zone, m.Region = zone.FailureDomain, zone.Region
	return m, err
}

// refreshed asks only for the properties that are kept up to date. These are the
// addresses, as in upstream, and the type. The type is empty if the question about
// it fails.
func (p legacy) refreshed(ctx context.Context, c call, node *corev1.Node) (Metadata, error) {
	m, err := p.named(ctx, c, node)
	if err != nil {
		return Metadata{}, err
	}
	name := types.NodeName(node.Name)
	if m.Addresses, m.MoreAddresses, err = p.addresses(ctx, c, m.ProviderID, name); err != nil {
		return Metadata{}, err
	}
	if m.Type, err = p.instanceType(ctx, c, m.ProviderID, name); err != nil {
		m.Type = ""
	}
	return m, nil
}

// addresses returns the addresses that are read, and reports whether there are more.
func (p legacy) addresses(ctx context.Context, c call, id string, name types.NodeName) (read []corev1.NodeAddress, more bool, err error) {
	theirs, err := either(ctx, p.gateway, c,
		way[[]corev1.NodeAddress]{"NodeAddressesByProviderID", func(ctx context.Context) ([]corev1.NodeAddress, error) {
			return p.instances.NodeAddressesByProviderID(ctx, id)
		}},
		way[[]corev1.NodeAddress]{"NodeAddresses", func(ctx context.Context) ([]corev1.NodeAddress, error) {
			return p.instances.NodeAddresses(ctx, name)
		}})
	read, more = boundedAddresses(theirs)
	return read, more, err
}

func (p legacy) instanceType(ctx context.Context, c call, id string, name types.NodeName) (string, error) {
	return either(ctx, p.gateway, c,
		way[string]{"InstanceTypeByProviderID", func(ctx context.Context) (string, error) {
			return p.instances.InstanceTypeByProviderID(ctx, id)
		}},
		way[string]{"InstanceType", func(ctx context.Context) (string, error) { return p.instances.InstanceType(ctx, name) }})
}

// named returns metadata that has only the provider ID. The metadata is Nameless
// if the provider does not implement InstanceID.
func (p legacy) named(ctx context.Context, c call, node *corev1.Node) (Metadata, error) {
	id, err := p.providerID(ctx, c, node)
	if KindOf(err) == NotImplemented {
		return Metadata{Nameless: true}, nil
	}
	return Metadata{ProviderID: id}, err
}

// way is one of two calls that answer the same question.
type way[T any] struct {
	method string
	ask    func(context.Context) (T, error)
}

// either makes the calls in their order until one of them succeeds.
func either[T any](ctx context.Context, g *Gateway, c call, ways ...way[T]) (value T, err error) {
	for _, w := range ways {
		if value, err = read(ctx, g, c.to(w.method), w.ask); err == nil {
			return value, nil
		}
	}
	return value, err
}
