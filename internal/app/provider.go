package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime/debug"
	"time"

	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// callPatience is how long a provider's code may run on our behalf at start
// before that is worth a line in the log.
const callPatience = 30 * time.Second

// built is a provider, and the informers that it may have been made with: what
// they hold is whole, since nobody knows what a provider looks at.
type built struct {
	cloud     cloudprovider.Interface
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
	var tagged bool
	err = call(ctx, "factory", func() (err error) {
		if made.cloud, err = o.program.provider(ctx, given); err != nil {
			return err
		}
		if isNil(made.cloud) {
			return errors.New("the factory returned no provider")
		}
		tagged = made.cloud.HasClusterID()
		return nil
	})
	if err != nil {
		// A factory that is not waited for may still write to what is made.
		return built{}, fmt.Errorf("%s: %w", o.provider.describe(), err)
	}
	return made, o.provider.acceptUntagged(ctx, tagged)
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

// isNil also finds a nil pointer in an interface.
func isNil(cloud cloudprovider.Interface) bool {
	if cloud == nil {
		return true
	}
	v := reflect.ValueOf(cloud)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// initialize tells the provider that this replica leads, hands it the informers
// that it asks for, and opens the way to its parts. Once for each process:
// providers start goroutines of their own here, which end with ctx.
func (p *process) initialize(ctx context.Context) error {
	p.initializing.Store(true)
	defer p.initializing.Store(false)
	// What hangs is waited for: until it returns the provider may be changing
	// things, and the lease must not be given back.
	waiting := context.WithoutCancel(ctx)
	theirs := p.provider.cloud
	err := call(waiting, "Initialize", func() error {
		theirs.Initialize(p.clients.each, ctx.Done())
		return nil
	})
	if user, ok := theirs.(cloudprovider.InformerUser); ok && err == nil && ctx.Err() == nil {
		err = call(waiting, "SetInformers", func() error {
			user.SetInformers(p.provider.informers)
			return nil
		})
	}
	if err == nil {
		startProviderInformers(ctx, p.provider.informers)
		err = call(waiting, "accessors", func() error { return p.open(ctx) }) // Some ask the cloud.
	}
	if err != nil {
		return fmt.Errorf("cloud provider %q: %w", p.options.provider.name, err)
	}
	return nil
}

// open makes the gateway of what the provider offers.
func (p *process) open(ctx context.Context) error {
	gateway, err := cloud.New(ctx, p.provider.cloud, cloud.Config{
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

// call runs a provider's code, makes an error of a panic, and reports code that
// does not return. It waits until ctx ends.
func call(ctx context.Context, name string, code func() error) error {
	logger := klog.FromContext(ctx)
	done := make(chan error, 1)
	go func() { done <- recovered(logger, name, code) }()
	slow := time.NewTicker(callPatience)
	defer slow.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-slow.C:
			logger.Info("The provider has not returned yet", "call", name)
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", name, context.Cause(ctx))
		}
	}
}

func recovered(logger klog.Logger, name string, code func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s panicked: %v", name, r)
			logger.Error(err, "The provider panicked", "call", name, "stack", string(debug.Stack()))
		}
	}()
	return code()
}
