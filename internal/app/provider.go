package app

import (
	"context"
	"fmt"
	"io"
	"os"

	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// built is a provider, and the informers that it may have been made with. They
// keep whole objects, because nobody knows what a provider reads of them.
type built struct {
	cloud     *cloud.Provider
	informers informers.SharedInformerFactory
}

// build makes the provider that the flags name: by the registry, or in the
// program's own way.
func (o *options) build(ctx context.Context, c clients) (built, error) {
	client, err := c.own.Client(informersName)
	if err != nil {
		return built{}, fmt.Errorf("client of the informers: %w", err)
	}
	made := built{informers: informers.NewSharedInformerFactory(client, o.controllers.resyncPeriod())}
	config, done, err := o.provider.open()
	if err != nil {
		return built{}, err
	}
	defer done()
	// It is for the making alone. What lasts belongs into Initialize.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	given := ProviderDeps{Name: o.provider.name, Config: config, Flags: o.flagSet, Clients: c.each, Informers: made.informers}
	made.cloud, err = cloud.Make(ctx, func(ctx context.Context) (cloudprovider.Interface, error) { return o.program.provider(ctx, given) })
	if err != nil {
		// A factory that is not waited for may still write to what is made.
		return built{}, fmt.Errorf("%s: %w", o.provider.describe(), err)
	}
	return made, o.provider.acceptUntagged(ctx, made.cloud.HasClusterID())
}

// open opens the configuration file. Without one config is a true nil.
func (p *providerOptions) open() (config io.Reader, done func(), err error) {
	if p.configFile == "" {
		return nil, func() {}, nil
	}
	file, err := os.Open(p.configFile)
	if err != nil {
		return nil, nil, fmt.Errorf("--cloud-config: %w", err)
	}
	return file, func() { _ = file.Close() }, nil // it was only read
}

// describe names the provider and the file that it was made from.
func (p *providerOptions) describe() string {
	if p.configFile == "" {
		return fmt.Sprintf("cloud provider %q", p.name)
	}
	return fmt.Sprintf("cloud provider %q with --cloud-config=%s", p.name, p.configFile)
}

func (p *providerOptions) acceptUntagged(ctx context.Context, tagged bool) error {
	switch {
	case tagged:
		return nil
	case !p.allowUntagged:
		return fmt.Errorf("cloud provider %q: no cluster ID found; tag the cluster's instances, or start with --allow-untagged-cloud", p.name)
	}
	klog.FromContext(ctx).Info("Warning: the cluster has no cluster ID, and a provider may need one; tag the cluster's instances", "provider", p.name)
	return nil
}

// initialize tells the provider that this replica leads, hands it the informers
// that it asks for, and opens the way to its parts. Once for each process:
// providers start goroutines of their own here, which end with ctx.
func (p *process) initialize(ctx context.Context) error {
	p.initializing.Store(true)
	defer p.initializing.Store(false)
	err := p.provider.cloud.Initialize(ctx, p.clients.each)
	if err == nil && ctx.Err() == nil {
		err = p.provider.cloud.SetInformers(ctx, p.provider.informers)
	}
	if err == nil {
		startProviderInformers(ctx, p.provider.informers)
		err = p.open(ctx)
	}
	if err != nil {
		return fmt.Errorf("cloud provider %q: %w", p.options.provider.name, err)
	}
	return nil
}

// open makes the gateway of what the provider offers.
func (p *process) open(ctx context.Context) error {
	gateway, err := p.provider.cloud.Open(ctx, cloud.Config{
		ReadTimeout:   p.options.provider.readTimeout,
		ChangeTimeout: p.options.provider.changeTimeout,
		ClusterName:   p.options.provider.clusterName,
		WithoutRoutes: !p.options.route.configure || !p.options.controllers.runs(routeController),
		Metrics:       p.metrics.cloud,
	})
	if err == nil {
		p.gateway.Store(gateway)
	}
	return err
}
