// Package provider connects Kubernetes to the cloud acme: it implements
// cloudprovider.Interface with the calls of package cloud.
package provider

import (
	"io"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/examples/provider/cloud"
)

// Name is the value of --cloud-provider and the scheme of provider IDs. It is
// written into each Node, so it must never change.
const Name = "acme"

func init() {
	cloudprovider.RegisterCloudProvider(Name, func(file io.Reader) (cloudprovider.Interface, error) {
		config, err := readConfig(file)
		if err != nil {
			return nil, err
		}
		return New(cloud.NewHTTP(string(config.Endpoint))), nil
	})
}

// Provider implements cloudprovider.Interface.
type Provider struct{ api cloud.API }

var _ cloudprovider.Interface = (*Provider)(nil)

// New returns a provider for this cloud. New makes no call, because every
// replica creates a provider, but only one replica leads.
func New(api cloud.API) *Provider { return &Provider{api: api} }

// Initialize implements cloudprovider.Interface. It is called once, when this
// replica leads. If the provider needs goroutines, start them here. They must end
// when the channel is closed.
func (p *Provider) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// InstancesV2 implements cloudprovider.Interface.
func (p *Provider) InstancesV2() (cloudprovider.InstancesV2, bool) {
	return &instances{api: p.api}, true
}

// LoadBalancer implements cloudprovider.Interface. To give Services of type
// LoadBalancer their load balancers, return a cloudprovider.LoadBalancer and true.
// The daemon can call its five methods again at any time, even after an interrupted
// call. So the methods must find an existing load balancer. They must look for a
// tag with the cluster's name and the Service's UID, and never use an ID kept in
// memory.
func (p *Provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

// Routes implements cloudprovider.Interface. If the cloud's network uses a
// route table for the addresses of pods, return a cloudprovider.Routes and
// true.
func (p *Provider) Routes() (cloudprovider.Routes, bool) { return nil, false }

// ProviderName implements cloudprovider.Interface.
func (p *Provider) ProviderName() string { return Name }

// HasClusterID implements cloudprovider.Interface. False would mean that the cloud
// does not record which cluster an instance belongs to. Then the daemon would
// start only with --allow-untagged-cloud.
func (p *Provider) HasClusterID() bool { return true }

// Instances implements cloudprovider.Interface: InstancesV2 replaces it.
func (p *Provider) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones implements cloudprovider.Interface: InstancesV2 replaces it.
func (p *Provider) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters implements cloudprovider.Interface. Nothing calls it.
func (p *Provider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }
