package main

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// batched answers about many Nodes in one call. If its call to the cloud fails, each of
// its answers has the error. The method itself returns none.
type batched struct {
	cloudprovider.InstancesV2
	provider.InstanceMetadataBatcher
}

// InstanceMetadataBatch implements provider.InstanceMetadataBatcher.
func (b batched) InstanceMetadataBatch(ctx context.Context, nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) { //nolint:unparam // provider.InstanceMetadataBatcher names the error
	answers, err := b.InstanceMetadataBatcher.InstanceMetadataBatch(ctx, nodes)
	if err == nil {
		return answers, nil
	}
	answers = make([]provider.InstanceMetadataAnswer, len(nodes))
	for n := range answers {
		answers[n].Err = err
	}
	return answers, nil
}

// listKeptFor is how long the provider of the kind keepsList keeps its list.
const listKeptFor = 2 * time.Second

// keptList is a list of all instances that is kept for a while, as many providers do.
type keptList struct {
	clock  clock.PassiveClock
	client *simulator.Client

	mu   sync.Mutex
	all  []simulator.Instance // guarded by mu
	made time.Time            // guarded by mu
}

// instances returns the list. Errors are not kept.
func (l *keptList) instances(ctx context.Context) ([]simulator.Instance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.made.IsZero() && l.clock.Since(l.made) < listKeptFor {
		return l.all, nil
	}
	all, err := l.client.Instances(ctx)
	if err == nil {
		l.all, l.made = all, l.clock.Now()
	}
	return all, err
}

// fromList describes instances as the kept list does. It asks the cloud whether an
// instance exists.
type fromList struct {
	cloudprovider.InstancesV2

	list *keptList
}

// InstanceMetadata implements cloudprovider.InstancesV2.
func (f fromList) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	all, err := f.list.instances(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		if i.State != simulator.Terminated && i.Name == node.Name {
			return &cloudprovider.InstanceMetadata{
				ProviderID: "simulated://" + i.Region + "/" + i.ID, InstanceType: i.Type, Zone: i.Zone, Region: i.Region, NodeAddresses: addressesOf(i),
			}, nil
		}
	}
	return nil, cloudprovider.InstanceNotFound
}
