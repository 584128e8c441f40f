// Package listing is a provider for the simulated cloud. Like the providers of many
// vendors, it answers each question about a Node from a list of all instances. It
// registers itself under the name "listing". Under the name "listing-cached", it keeps its
// list for a while.
//
// If an instance is not on the list, the provider treats it as absent. So if a list is
// empty or cut short, running instances seem to be gone.
package listing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// Name is the provider's name. Its provider IDs are the same as those of the provider
// "simulated", because both are providers for the simulated cloud.
const Name = "listing"

// CachedName is the name of the provider that keeps its list.
const CachedName = "listing-cached"

// Kept is how long that provider keeps its list.
const Kept = 10 * time.Second

func init() { //nolint:gochecknoinits // the contract asks a provider to register itself on import
	cloudprovider.RegisterCloudProvider(Name, func(config io.Reader) (cloudprovider.Interface, error) { return New(config) })
	cloudprovider.RegisterCloudProvider(CachedName, func(config io.Reader) (cloudprovider.Interface, error) {
		cloud, err := New(config)
		if err != nil {
			return nil, err
		}
		cloud.list = cached(cloud.list, clock.RealClock{})
		return cloud, nil
	})
}

// Cloud is the provider.
type Cloud struct {
	cloudprovider.Interface  // the simulated provider; the embedded interface hides its method Reload
	provider.ErrorClassifier // the classifier of the simulated provider

	list lister
}

// New returns a provider. It needs the same configuration as the simulated
// provider. The cloud in the configuration must be running.
func New(config io.Reader) (*Cloud, error) {
	if config == nil {
		return nil, errors.New("the provider that lists needs a cloud config with an endpoint")
	}
	text, err := io.ReadAll(config)
	if err != nil {
		return nil, fmt.Errorf("cloud config: %w", err)
	}
	inner, err := simulated.New(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var c struct {
		Endpoint string `json:"endpoint"`
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("cloud config: %w", err)
	}
	return &Cloud{Interface: inner, ErrorClassifier: inner, list: simulator.NewClient(c.Endpoint).Instances}, nil
}

// ProviderName implements cloudprovider.Interface.
func (c *Cloud) ProviderName() string { return Name }

// InstancesV2 implements cloudprovider.Interface.
func (c *Cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return instances{c.list}, true }

// instances answers from lists.
type instances struct{ list lister }

// InstanceExists implements cloudprovider.InstancesV2.
func (i instances) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	_, err := i.find(ctx, node)
	if errors.Is(err, cloudprovider.InstanceNotFound) {
		return false, nil
	}
	return err == nil, err
}

// InstanceShutdown implements cloudprovider.InstancesV2.
func (i instances) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	found, err := i.find(ctx, node)
	return found.State == simulator.Stopping || found.State == simulator.Stopped, err
}

// InstanceMetadata implements cloudprovider.InstancesV2.
func (i instances) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	found, err := i.find(ctx, node)
	if err != nil {
		return nil, err
	}
	m := &cloudprovider.InstanceMetadata{
		ProviderID:   ProviderID(found),
		InstanceType: found.Type,
		Zone:         found.Zone,
		Region:       found.Region,
	}
	for _, a := range found.Addresses {
		m.NodeAddresses = append(m.NodeAddresses, corev1.NodeAddress{Type: corev1.NodeAddressType(a.Type), Address: a.Address})
	}
	return m, nil
}

// ProviderID returns the provider ID of an instance.
func ProviderID(i simulator.Instance) string { return simulated.Name + "://" + i.Region + "/" + i.ID }

// find lists all instances and returns the instance of the Node. It uses the Node's
// provider ID. If the Node has none, it uses the Node's name.
func (i instances) find(ctx context.Context, node *corev1.Node) (simulator.Instance, error) {
	all, err := i.list(ctx)
	if err != nil {
		return simulator.Instance{}, fmt.Errorf("list of instances: %w", err)
	}
	for _, instance := range all {
		same := instance.Name == node.Name
		if node.Spec.ProviderID != "" {
			same = ProviderID(instance) == node.Spec.ProviderID
		}
		if same && instance.State != simulator.Terminated {
			return instance, nil
		}
	}
	return simulator.Instance{}, fmt.Errorf("node %s: %w", node.Name, cloudprovider.InstanceNotFound)
}

// lister lists all instances.
type lister func(context.Context) ([]simulator.Instance, error)

// cached returns a lister that lists at most once in the time Kept, as the providers of
// several vendors do. Callers wait while another one lists. Errors are not kept.
func cached(list lister, c clock.PassiveClock) lister {
	var (
		mu   sync.Mutex
		last []simulator.Instance // guarded by mu
		at   time.Time            // guarded by mu
	)
	return func(ctx context.Context) ([]simulator.Instance, error) {
		mu.Lock()
		defer mu.Unlock()
		if !at.IsZero() && c.Since(at) < Kept {
			return last, nil
		}
		all, err := list(ctx)
		if err == nil {
			last, at = all, c.Now()
		}
		return all, err
	}
}
