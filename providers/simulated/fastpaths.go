package simulated

import (
	"context"
	"fmt"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// Each fast path is a separate type. So a value can have exactly the methods of
// the fast paths that are switched on.
var (
	_ provider.InstanceMetadataBatcher = batches{}
	_ provider.InstanceLister          = lists{}
	_ provider.InstanceWatcher         = watches{}
)

// offering returns the instances, together with each fast path that is not switched
// off.
func (i *instances) offering(without fastPaths) cloudprovider.InstancesV2 {
	b, l, w := batches{i.cloud}, lists{i.cloud}, watches{i.cloud}
	switch without {
	case fastPaths{}:
		return struct {
			*instances
			batches
			lists
			watches
		}{i, b, l, w}
	case fastPaths{Batches: true}:
		return struct {
			*instances
			lists
			watches
		}{i, l, w}
	case fastPaths{Lists: true}:
		return struct {
			*instances
			batches
			watches
		}{i, b, w}
	case fastPaths{Watches: true}:
		return struct {
			*instances
			batches
			lists
		}{i, b, l}
	case fastPaths{Lists: true, Watches: true}:
		return struct {
			*instances
			batches
		}{i, b}
	case fastPaths{Batches: true, Watches: true}:
		return struct {
			*instances
			lists
		}{i, l}
	case fastPaths{Batches: true, Lists: true}:
		return struct {
			*instances
			watches
		}{i, w}
	default:
		return i
	}
}

// lists implements provider.InstanceLister.
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

// watches implements provider.InstanceWatcher.
type watches struct{ cloud *Cloud }

// WatchInstances implements provider.InstanceWatcher.
func (w watches) WatchInstances(ctx context.Context, token string) (provider.InstanceChanges, error) {
	now := w.cloud.connection()
	wait := watchFor
	if limit := now.config.Timeout; limit > 0 {
		wait = min(wait, limit/2) // The timeout must leave time for the answer.
	}
	found, err := ask(ctx, w.cloud, func(ctx context.Context, client *simulator.Client) (simulator.InstanceChanges, error) {
		return client.WatchInstances(ctx, token, wait)
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
