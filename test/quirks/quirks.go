package quirks

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"
)

// Quirk is one unusual behaviour of a provider.
type Quirk struct {
	// Name is the quirk's name in a configuration.
	Name string
	// Argument is an argument of the quirk, such as the name of an object.
	Argument string
	// apply changes the parts that the provider offers. It runs once, before the first
	// call.
	apply func(*Provider)
}

// Provider is a provider with quirks.
type Provider struct {
	cloudprovider.Interface

	quirks []Quirk
	once   sync.Once

	// instances, balancers and routes are the values that the accessors return. If a
	// value is nil, its accessor returns false. Quirks wrap the values.
	instances cloudprovider.InstancesV2
	balancers cloudprovider.LoadBalancer
	routes    cloudprovider.Routes
	// offers reports whether an accessor returns true at present. If offers is nil,
	// each accessor that has a value returns true.
	offers func(accessor string) bool

	mu     sync.Mutex
	client kubernetes.Interface // guarded by mu
}

// Wrap returns the provider with these quirks. The first quirk is the innermost.
func Wrap(inner cloudprovider.Interface, habits ...Quirk) *Provider {
	return &Provider{Interface: inner, quirks: habits}
}

// Initialize keeps a client for the quirks that write objects themselves.
func (p *Provider) Initialize(clients cloudprovider.ControllerClientBuilder, stop <-chan struct{}) {
	if client, err := clients.Client("quirks"); err == nil {
		p.UseClient(client)
	}
	p.Interface.Initialize(clients, stop)
}

// UseClient sets the client for the quirks that write objects themselves. A test that
// does not call Initialize must call UseClient.
func (p *Provider) UseClient(client kubernetes.Interface) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client = client
}

// kube returns the client, or nil before UseClient is called.
func (p *Provider) kube() kubernetes.Interface {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.client
}

// InstancesV2 implements cloudprovider.Interface.
func (p *Provider) InstancesV2() (cloudprovider.InstancesV2, bool) {
	p.open()
	return p.instances, p.instances != nil && p.offered("InstancesV2")
}

// LoadBalancer implements cloudprovider.Interface.
func (p *Provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	p.open()
	return p.balancers, p.balancers != nil && p.offered("LoadBalancer")
}

// Routes implements cloudprovider.Interface.
func (p *Provider) Routes() (cloudprovider.Routes, bool) {
	p.open()
	return p.routes, p.routes != nil && p.offered("Routes")
}

func (p *Provider) offered(accessor string) bool { return p.offers == nil || p.offers(accessor) }

// open calls the inner accessors and applies the quirks. This happens at the first call
// of an accessor, because some providers know what they offer only after Initialize.
func (p *Provider) open() {
	p.once.Do(func() {
		if v2, ok := p.Interface.InstancesV2(); ok {
			p.instances = v2
		}
		if balancers, ok := p.Interface.LoadBalancer(); ok {
			p.balancers = balancers
		}
		if routes, ok := p.Interface.Routes(); ok {
			p.routes = routes
		}
		for _, q := range p.quirks {
			q.apply(p)
		}
	})
}

// Parse returns the quirk that a configuration names, as "Name" or "Name=argument".
func Parse(text string) (Quirk, error) {
	name, argument, _ := strings.Cut(text, "=")
	for _, known := range all() {
		if known.Name == name {
			switch {
			case known.needsArgument && argument == "":
				return Quirk{}, fmt.Errorf("quirk %q: it needs an argument: %s=ARGUMENT", text, name)
			case !known.needsArgument && argument != "":
				return Quirk{}, fmt.Errorf("quirk %q: it takes no argument", text)
			}
			return known.make(argument), nil
		}
	}
	return Quirk{}, fmt.Errorf("quirk %q is unknown", text)
}

// entry is a quirk that a configuration can name.
type entry struct {
	Name          string
	needsArgument bool
	make          func(argument string) Quirk
}

func plain(q Quirk) entry {
	return entry{Name: q.Name, make: func(string) Quirk { return q }}
}

func withArgument(make func(string) Quirk) entry {
	return entry{Name: make("").Name, needsArgument: true, make: make}
}

// all lists the quirks. Add each new quirk here.
func all() []entry {
	return []entry{
		// Instances.
		withArgument(PanicsFor),
		withArgument(HangsFor),
		withArgument(SpellsIDsWith),
		plain(IDsWithoutScheme),
		plain(LabelsOnlyOnce),
		plain(LabelsSometimesNil),
		plain(AddressesSometimesGone),
		plain(ShufflesAddresses),
		plain(FormatsNil),
		plain(CachesExistence),
		plain(GoneIsAnError),
		plain(GoneIsNotFound),
		// Load balancers.
		plain(EchoesStatus),
		plain(DeletesByAddress),
		plain(JoinsElsewhere),
		plain(QuotesService),
		plain(ThrottlesInside),
		// Routes.
		plain(ListsTwoTables),
		// The whole provider.
		plain(AnswersBadRequest),
		plain(RetryAfterADay),
		plain(OffersNothingOnce),
	}
}

// WorksOnce wraps a factory so that it works only once in a process. Later calls return
// an error. Real factories behave like this if they register metrics or start a server.
func WorksOnce(factory cloudprovider.Factory) cloudprovider.Factory {
	var mu sync.Mutex
	var used bool // guarded by mu
	return func(config io.Reader) (cloudprovider.Interface, error) {
		mu.Lock()
		defer mu.Unlock()
		if used {
			return nil, errors.New("the provider has been made in this process before")
		}
		used = true
		return factory(config)
	}
}
