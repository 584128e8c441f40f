package simulated

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
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

var _ provider.Terminations = (*instances)(nil)

// InstanceTermination implements provider.Terminations. The cloud ends an instance only if
// somebody asks for it.
func (i *instances) InstanceTermination(ctx context.Context, node *corev1.Node) (provider.Termination, error) {
	if i.cloud.without.Terminations {
		return provider.Termination{}, cloudprovider.NotImplemented
	}
	ended, found, err := i.cloud.machines().FindGone(ctx, node)
	if !found {
		return provider.Termination{}, err
	}
	return provider.Termination{ProviderID: node.Spec.ProviderID, At: ended.TerminatedAt, By: provider.TerminatedByUser}, nil
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

// providerIDs are the provider IDs of instances. Code that reads a provider ID ignores
// the region. Instance IDs are unique across regions. And if the region of an instance
// changes, the provider ID of its Node stays the same.
var providerIDs = kit.NewProviderIDs(Name+"://{region}/{id}").Where("id", isInstanceID)

func isInstanceID(id string) bool {
	digits, ok := strings.CutPrefix(id, "i-")
	return ok && len(digits) >= 8 && strings.Trim(digits, "0123456789") == ""
}

// instanceID returns the instance ID in a provider ID of this cloud.
func instanceID(providerID string) (string, error) {
	parts, err := providerIDs.Parse(providerID)
	return parts["id"], err
}

// The fast paths are separate types. So a value can have exactly the methods of those
// that are switched on.
var (
	_ provider.InstanceMetadataBatcher = batches{}
	_ provider.InstanceLister          = lists{}
	_ provider.InstanceWatcher         = lists{}
)

// offering returns the instances, together with the fast paths that are not switched
// off.
func (i *instances) offering(without optional) cloudprovider.InstancesV2 {
	b, l := batches{i.cloud}, lists{i.cloud}
	switch {
	case without.Batches && without.Lists:
		return i
	case without.Batches:
		return struct {
			*instances
			lists
		}{i, l}
	case without.Lists:
		return struct {
			*instances
			batches
		}{i, b}
	default:
		return struct {
			*instances
			batches
			lists
		}{i, b, l}
	}
}

// lists implements provider.InstanceLister and provider.InstanceWatcher.
type lists struct{ cloud *Cloud }

// ListInstances implements provider.InstanceLister.
func (l lists) ListInstances(ctx context.Context, token string) (provider.InstancePage, error) {
	found, err := ask(ctx, l.cloud, func(ctx context.Context, client *simulator.Client) (simulator.List[simulator.Instance], error) {
		return client.InstancePage(ctx, token)
	})
	if err != nil {
		return provider.InstancePage{}, fmt.Errorf("list of instances: %w", err)
	}
	page := provider.InstancePage{Next: found.Continue}
	for _, i := range found.Items {
		if i.State == simulator.Terminated {
			continue
		}
		// An instance with an error is left out. For its Node, the daemon then
		// calls InstanceMetadata, which returns the error.
		if m, err := metadata(i); err == nil {
			page.Instances = append(page.Instances, *m)
		}
	}
	return page, nil
}

// watchFor is the maximum time that one call waits for a change.
const watchFor = 2 * time.Minute

// WatchInstances implements provider.InstanceWatcher.
func (l lists) WatchInstances(ctx context.Context, token string) (provider.InstanceChanges, error) {
	found, err := ask(ctx, l.cloud, func(ctx context.Context, client *simulator.Client) (simulator.InstanceChanges, error) {
		return client.WatchInstances(ctx, token, watchFor)
	})
	switch {
	case simulator.IsExpired(err):
		return provider.InstanceChanges{}, fmt.Errorf("%w: %w", provider.ErrWatchExpired, err)
	case err != nil:
		return provider.InstanceChanges{}, fmt.Errorf("watch of instances: %w", err)
	}
	changes := provider.InstanceChanges{Resume: found.Resume}
	for _, ref := range found.Changed {
		id, err := providerIDs.Print(ref.Region, ref.ID)
		if err != nil {
			id = "" // the daemon then calls InstanceMetadata for the Node and gets the error
		}
		changes.Changed = append(changes.Changed, provider.InstanceRef{ProviderID: id, NodeName: ref.Name})
	}
	return changes, nil
}

// batches implements provider.InstanceMetadataBatcher.
type batches struct{ cloud *Cloud }

// MaxInstanceMetadataBatch implements provider.InstanceMetadataBatcher.
func (b batches) MaxInstanceMetadataBatch() int { return b.cloud.connection().config.page() }

// InstanceMetadataBatch implements provider.InstanceMetadataBatcher. It makes
// one list call to the cloud, and a separate call for each instance that the
// list lacks.
func (b batches) InstanceMetadataBatch(ctx context.Context, nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
	query := question(nodes)
	found, err := b.cloud.findInstances(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%d instances: %w", len(query.IDs)+len(query.Names), err)
	}
	answers := make([]provider.InstanceMetadataAnswer, len(nodes))
	for n, answer := range b.cloud.machines().FindAll(ctx, nodes, found) {
		if answers[n].Err = answer.Err; answer.Err == nil {
			answers[n].Metadata, answers[n].Err = metadata(answer.Instance)
		}
	}
	return answers, nil
}

// question returns the query for the instances of the nodes. Nodes with the
// provider ID of another cloud are left out.
func question(nodes []*corev1.Node) simulator.Query {
	var q simulator.Query
	for _, node := range nodes {
		if node.Spec.ProviderID == "" {
			q.Names = append(q.Names, node.Name)
		} else if id, err := instanceID(node.Spec.ProviderID); err == nil {
			q.IDs = append(q.IDs, id)
		}
	}
	return q
}
