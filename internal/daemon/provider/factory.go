package provider

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// Deps has the values that a function can use to make a provider. Package ccm
// documents the fields.
type Deps struct {
	Name      string
	Config    io.Reader // nil without a file
	Flags     *pflag.FlagSet
	Clients   cloudprovider.ControllerClientBuilder
	Informers informers.SharedInformerFactory
	Lasting   context.Context // ends when this provider is dropped
	Changed   func()          // requests that the configuration is read again
}

// Registered makes the provider that registered itself under d.Name.
func (d Deps) Registered() (cloudprovider.Interface, error) {
	return cloud.Registered(d.Name, d.Config)
}

// Made is a provider, together with the informers that its factory got. The objects
// in these informers keep all their fields, because the daemon cannot know which
// fields a provider reads.
type Made struct {
	Cloud     *cloud.Provider
	Informers informers.SharedInformerFactory

	drop context.CancelFunc // nil in tests
}

// Drop ends the provider's context Deps.Lasting.
func (m Made) Drop() {
	if m.drop != nil {
		m.drop()
	}
}

// Factory makes the provider that the flags name.
type Factory struct {
	Name          string
	ConfigFile    string // "" if there is no file
	AllowUntagged bool   // accept a provider without a cluster ID
	// New makes the provider. If it is nil, the provider comes from the registry.
	New     func(context.Context, Deps) (cloudprovider.Interface, error)
	Flags   *pflag.FlagSet
	Clients cloudprovider.ControllerClientBuilder
	// Informers returns informers that only the provider and added controllers use.
	Informers func() (informers.SharedInformerFactory, error)
	// Asked is a channel that gets a value when a provider requests that its
	// configuration is read again. It has a buffer for one value, and is nil if
	// nobody receives from it.
	Asked chan struct{}
}

// Make makes the provider.
func (f *Factory) Make(ctx context.Context) (Made, error) {
	// ctx may have a deadline, but the provider lives longer.
	lasting, drop := context.WithCancel(context.WithoutCancel(ctx))
	made, err := f.makeLasting(ctx, lasting)
	if err != nil {
		drop()
		return Made{}, err
	}
	made.drop = drop
	return made, nil
}

func (f *Factory) makeLasting(ctx, lasting context.Context) (Made, error) {
	shared, err := f.Informers()
	if err != nil {
		return Made{}, err
	}
	made := Made{Informers: shared}
	config, done, err := f.open()
	if err != nil {
		return Made{}, err
	}
	defer done()
	// This context ends when the provider has been made. Goroutines of the provider
	// use the context lasting, which ends later.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	given := Deps{
		Name: f.Name, Config: config, Flags: f.Flags, Clients: f.Clients, Informers: made.Informers,
		Lasting: lasting, Changed: f.asks(lasting),
	}
	made.Cloud, err = cloud.Make(ctx, func(ctx context.Context) (cloudprovider.Interface, error) { return f.make(ctx, given) })
	if err != nil {
		// The provider's informers are not returned, because a factory that has
		// not returned in time may still use them.
		return Made{}, fmt.Errorf("%s: %w", f.describe(), err)
	}
	return made, f.acceptUntagged(ctx, made.Cloud.HasClusterID())
}

// asks returns the function that a provider gets as Deps.Changed. The provider calls it
// to request that its configuration is read again. The function does nothing once the
// provider has been dropped.
func (f *Factory) asks(lasting context.Context) func() {
	return func() {
		if lasting.Err() != nil {
			return
		}
		select {
		case f.Asked <- struct{}{}:
		default: // A request is already waiting.
		}
	}
}

func (f *Factory) make(ctx context.Context, d Deps) (cloudprovider.Interface, error) {
	if f.New == nil {
		return d.Registered()
	}
	return f.New(ctx, d)
}

// open opens the configuration file. If there is no file, config is a nil interface.
func (f *Factory) open() (config io.Reader, done func(), err error) {
	if f.ConfigFile == "" {
		return nil, func() {}, nil
	}
	file, err := os.Open(f.ConfigFile)
	if err != nil {
		return nil, nil, fmt.Errorf("--cloud-config: %w", err)
	}
	return file, func() { _ = file.Close() }, nil // the file was only read
}

// describe returns a text with the name of the provider and its configuration file.
func (f *Factory) describe() string {
	if f.ConfigFile == "" {
		return fmt.Sprintf("cloud provider %q without --cloud-config", f.Name)
	}
	return fmt.Sprintf("cloud provider %q with --cloud-config=%s", f.Name, f.ConfigFile)
}

func (f *Factory) acceptUntagged(ctx context.Context, tagged bool) error {
	switch {
	case tagged:
		return nil
	case !f.AllowUntagged:
		return fmt.Errorf("cloud provider %q: no cluster ID found; tag the cluster's instances, or start with --allow-untagged-cloud", f.Name)
	}
	klog.FromContext(ctx).Info("Warning: the cluster has no cluster ID, and a provider may need one; tag the cluster's instances", "provider", f.Name)
	return nil
}
