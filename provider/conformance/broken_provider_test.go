package conformance_test

import (
	"context"

	cloudprovider "k8s.io/cloud-provider"
)

// brokenProvider is the provider of a brokenCloud.
type brokenProvider struct {
	cloud         *brokenCloud
	start         int // 1 for the first provider of the cloud
	loadBalancers *loadBalancers
}

var _ cloudprovider.Interface = (*brokenProvider)(nil)

// brokenProvider returns a new provider, as after a restart of the daemon.
func (c *brokenCloud) Provider(ctx context.Context) (cloudprovider.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starts++
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	return &brokenProvider{cloud: c, start: c.starts, loadBalancers: &loadBalancers{cloud: c, number: c.starts}}, nil
}

func (p *brokenProvider) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

func (p *brokenProvider) InstancesV2() (cloudprovider.InstancesV2, bool) {
	return instances{p.cloud, p.start}, true
}

func (p *brokenProvider) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return p.loadBalancers, true
}

func (p *brokenProvider) Routes() (cloudprovider.Routes, bool) { return &routes{p.cloud}, true }

func (p *brokenProvider) Instances() (cloudprovider.Instances, bool) { return nil, false }

func (p *brokenProvider) Zones() (cloudprovider.Zones, bool) {
	if p.cloud.has("cost/accessors") {
		return (*zones)(nil), true
	}
	return nil, false
}

type zones struct{ cloudprovider.Zones }

func (p *brokenProvider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

func (p *brokenProvider) ProviderName() string { return scheme }

func (p *brokenProvider) HasClusterID() bool { return true }
