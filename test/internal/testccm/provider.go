package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/providers/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/quirks"
)

// name is the name of the provider, and the scheme of the provider IDs that its
// older interface returns.
const name = "test"

func init() {
	cloudprovider.RegisterCloudProvider(name, newQuirky)
	cloudprovider.RegisterCloudProvider(name+"-once", quirks.WorksOnce(newQuirky))
}

// kind says which interfaces the provider offers.
type kind string

const (
	// modern offers the simulated provider's InstancesV2 with the faults of the type
	// faulty. Each call is about one Node. All kinds have the faults of the type
	// balancers.
	modern kind = "modern"
	// listing offers the simulated provider's InstancesV2 without the faults of the type
	// faulty. It searches a list of all instances to find out whether an instance exists.
	listing kind = "listing"
	// batching offers the simulated provider's InstancesV2 with batches. Their errors are
	// in their answers.
	batching kind = "batching"
	// keepsList offers the simulated provider's InstancesV2. It describes instances as a
	// list does that it keeps for a while.
	keepsList kind = "keeps-list"
	// legacy offers only the older interfaces Instances and Zones.
	legacy kind = "legacy"
	// legacyWithoutID is like legacy, but finds instances only by name.
	legacyWithoutID kind = "legacy-without-id"
	// typedNil claims to support InstancesV2, but returns a nil pointer for it. It
	// also offers the older interfaces.
	typedNil kind = "typed-nil"
)

// config is the configuration file.
type config struct {
	Endpoint string `json:"endpoint"`
	Provider kind   `json:"provider"`
	// Quirks are names of quirks in package quirks. With quirks, the provider offers none
	// of Fairlead's own interfaces.
	Quirks []string `json:"quirks"`
	// Writes is the name of a Node to which a controller of the vendor writes.
	Writes string `json:"writes"`
}

// cloud is the simulated provider with other interfaces and with faults.
type cloud struct {
	cloudprovider.Interface  // the simulated provider, without the method of provider.Reloader
	provider.ErrorClassifier // that of the simulated provider

	kind     kind
	client   *simulator.Client // its calls meet the cloud's faults and are counted
	operator *simulator.Client // its calls meet no faults and are not counted
	memory   *memory
	list     *keptList
	writes   string // see config.Writes
}

// newQuirky is the provider's factory.
func newQuirky(r io.Reader) (cloudprovider.Interface, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var c config
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return nil, err
	}
	inner, err := newCloud(c)
	if err != nil || len(c.Quirks) == 0 {
		return inner, err
	}
	habits := make([]quirks.Quirk, len(c.Quirks))
	for i, text := range c.Quirks {
		if habits[i], err = quirks.Parse(text); err != nil {
			return nil, err
		}
	}
	return quirks.Wrap(inner, habits...), nil
}

func newCloud(c config) (*cloud, error) {
	inner, err := simulated.New(strings.NewReader("endpoint: " + c.Endpoint))
	if err != nil {
		return nil, err
	}
	switch c.Provider {
	case modern, listing, batching, keepsList, legacy, legacyWithoutID, typedNil:
	default:
		return nil, fmt.Errorf("provider: %q is unknown", c.Provider)
	}
	client := simulator.NewClient(c.Endpoint)
	return &cloud{
		Interface: inner, ErrorClassifier: inner, kind: c.Provider, client: client, operator: client.Operator(),
		memory: newMemory(), list: &keptList{clock: clock.RealClock{}, client: client}, writes: c.Writes,
	}, nil
}

// ProviderName implements cloudprovider.Interface.
func (c *cloud) ProviderName() string { return name }

// InstancesV2 implements cloudprovider.Interface.
func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool) {
	switch c.kind {
	case modern:
		inner, supported := c.Interface.InstancesV2()
		return faulty{InstancesV2: inner, switches: switches{c.operator}, memory: c.memory}, supported
	case listing:
		inner, supported := c.Interface.InstancesV2()
		return listed{InstancesV2: inner, client: c.client}, supported
	case batching:
		inner, supported := c.Interface.InstancesV2()
		batches, offered := inner.(provider.InstanceMetadataBatcher)
		return batched{InstancesV2: inner, InstanceMetadataBatcher: batches}, supported && offered
	case keepsList:
		inner, supported := c.Interface.InstancesV2()
		return fromList{InstancesV2: inner, list: c.list}, supported
	case typedNil:
		var none *faulty
		return none, true
	case legacy, legacyWithoutID:
	}
	return nil, false
}

// LoadBalancer implements cloudprovider.Interface.
func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	inner, supported := c.Interface.LoadBalancer()
	return balancers{LoadBalancer: inner, switches: switches{c.operator}}, supported
}

// Instances implements cloudprovider.Interface.
func (c *cloud) Instances() (cloudprovider.Instances, bool) { return older{c}, c.kind.older() }

// Zones implements cloudprovider.Interface.
func (c *cloud) Zones() (cloudprovider.Zones, bool) { return zones{older: older{c}}, c.kind.older() }

func (k kind) older() bool { return k == legacy || k == legacyWithoutID || k == typedNil }

// named returns the first instance that has this name and is not terminated.
func (c *cloud) named(ctx context.Context, node string) (simulator.Instance, error) {
	found, err := c.client.FindInstances(ctx, simulator.Query{Names: []string{node}})
	if err != nil {
		return simulator.Instance{}, err
	}
	for _, i := range found {
		if i.State != simulator.Terminated {
			return i, nil
		}
	}
	return simulator.Instance{}, cloudprovider.InstanceNotFound
}
