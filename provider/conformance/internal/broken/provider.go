package broken

import (
	"context"

	cloudprovider "k8s.io/cloud-provider"
)

// Provider is the provider of a Cloud.
type Provider struct {
	cloud         *Cloud
	start         int // 1 for the first provider of the cloud
	loadBalancers *loadBalancers
}

var _ cloudprovider.Interface = (*Provider)(nil)

// Provider returns a new provider, as after a restart of the daemon.
func (c *Cloud) Provider(ctx context.Context) (cloudprovider.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starts++
	if err := c.begin(ctx); err != nil {
		return nil, err
	}
	return &Provider{cloud: c, start: c.starts, loadBalancers: &loadBalancers{cloud: c, number: c.starts}}, nil
}

// Initialize implements cloudprovider.Interface.
func (p *Provider) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// InstancesV2 implements cloudprovider.Interface.
func (p *Provider) InstancesV2() (cloudprovider.InstancesV2, bool) {
	return instances{p.cloud, p.start}, true
}

// LoadBalancer implements cloudprovider.Interface.
func (p *Provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return p.loadBalancers, true }

// Routes implements cloudprovider.Interface.
func (p *Provider) Routes() (cloudprovider.Routes, bool) { return &routes{p.cloud}, true }

// Instances implements cloudprovider.Interface.
func (p *Provider) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones implements cloudprovider.Interface.
func (p *Provider) Zones() (cloudprovider.Zones, bool) {
	if p.cloud.has("cost/accessors") {
		return (*zones)(nil), true
	}
	return nil, false
}

type zones struct{ cloudprovider.Zones }

// Clusters implements cloudprovider.Interface.
func (p *Provider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// ProviderName implements cloudprovider.Interface.
func (p *Provider) ProviderName() string { return scheme }

// HasClusterID implements cloudprovider.Interface.
func (p *Provider) HasClusterID() bool { return true }
