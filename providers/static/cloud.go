package static

import (
	"errors"
	"io"

	cloudprovider "k8s.io/cloud-provider"
)

// Name is the provider's name, and the scheme of the provider IDs that it gives.
const Name = "static"

func init() {
	cloudprovider.RegisterCloudProvider(Name, func(config io.Reader) (cloudprovider.Interface, error) {
		return New(config)
	})
}

// Cloud is the provider. A Cloud never changes. When the configuration file changes,
// the daemon exits so that the kubelet restarts the daemon. The new daemon asks at
// once about all waiting Nodes.
type Cloud struct{ config config }

var _ cloudprovider.Interface = (*Cloud)(nil)

// New returns a provider. If the configuration is invalid, it returns an error
// that names all problems.
func New(file io.Reader) (*Cloud, error) {
	if file == nil {
		return nil, errors.New("the provider static needs --cloud-config: a file with nodes and providerID")
	}
	parsed, err := parseConfig(file)
	if err != nil {
		return nil, err
	}
	return &Cloud{config: parsed}, nil
}

// Initialize implements cloudprovider.Interface. There is nothing to prepare.
func (c *Cloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// ProviderName implements cloudprovider.Interface.
func (c *Cloud) ProviderName() string { return Name }

// HasClusterID implements cloudprovider.Interface. It always returns true,
// because this provider has no resources that clusters could share.
func (c *Cloud) HasClusterID() bool { return true }

// InstancesV2 implements cloudprovider.Interface.
func (c *Cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return machines{c.config}, true }

// Instances implements cloudprovider.Interface. InstancesV2 replaces it.
func (c *Cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones implements cloudprovider.Interface. InstancesV2 replaces it.
func (c *Cloud) Zones() (cloudprovider.Zones, bool) { return nil, false }

// LoadBalancer implements cloudprovider.Interface. This provider has none.
func (c *Cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }

// Routes implements cloudprovider.Interface. This provider has none.
func (c *Cloud) Routes() (cloudprovider.Routes, bool) { return nil, false }

// Clusters implements cloudprovider.Interface. Nothing calls it.
func (c *Cloud) Clusters() (cloudprovider.Clusters, bool) { return nil, false }
