// Package providertest has a provider that offers instances or nothing. It is for
// the tests of package app and of the packages below it. Only tests import it.
package providertest

import (
	"context"

	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
)

// Cloud is a provider that offers V2, or nothing if V2 is nil. Its functions may be
// nil.
type Cloud struct {
	cloudprovider.Interface

	Untagged       bool
	Config         string
	OnInitialize   func(stop <-chan struct{})
	OnSetInformers func(informers.SharedInformerFactory)
	OnAccessor     func()
	V2             cloudprovider.InstancesV2
	OnOffers       func() error
}

// Offers implements provider.Offerer.
func (c *Cloud) Offers(context.Context) error {
	if c.OnOffers == nil {
		return nil
	}
	return c.OnOffers()
}

// InstancesV2 is part of cloudprovider.Interface.
func (c *Cloud) InstancesV2() (cloudprovider.InstancesV2, bool) {
	if c.OnAccessor != nil {
		c.OnAccessor()
	}
	return c.V2, c.V2 != nil
}

// Instances is part of cloudprovider.Interface.
func (*Cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

// LoadBalancer is part of cloudprovider.Interface.
func (*Cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

// Routes is part of cloudprovider.Interface.
func (*Cloud) Routes() (cloudprovider.Routes, bool) { return nil, false }

// HasClusterID is part of cloudprovider.Interface.
func (c *Cloud) HasClusterID() bool { return !c.Untagged }

// Initialize is part of cloudprovider.Interface.
func (c *Cloud) Initialize(_ cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	if c.OnInitialize != nil {
		c.OnInitialize(stop)
	}
}

// SetInformers implements cloudprovider.InformerUser.
func (c *Cloud) SetInformers(factory informers.SharedInformerFactory) {
	if c.OnSetInformers != nil {
		c.OnSetInformers(factory)
	}
}
