package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
)

// Provider is a cloud provider that a factory has made. It is opaque: only this
// package calls the methods of the cloud provider.
type Provider struct {
	theirs    cloudprovider.Interface
	extras    extras
	hidden    []string // optional interfaces that a wrapper hides
	clusterID bool
	reloading sync.Mutex // held while the provider's Reload has not returned
}

// Factory makes a provider.
type Factory func(context.Context) (cloudprovider.Interface, error)

var errNoProvider = errors.New("the factory returned no provider")

// Make calls the factory. When the context ends, Make returns even if the factory
// has not returned. In that case the factory might still use its arguments.
func Make(ctx context.Context, factory Factory) (*Provider, error) {
	made := make(chan *Provider, 1)
	err := guard(ctx, "factory", func() error {
		theirs, err := factory(ctx)
		if err != nil {
			return err
		}
		if theirs = offered(theirs, true); theirs == nil {
			return errNoProvider
		}
		made <- &Provider{theirs: theirs, extras: extrasOf(theirs), hidden: hiddenExtras(theirs), clusterID: theirs.HasClusterID()}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return <-made, nil
}

// CheckRegistered returns an error if no provider has registered itself under the name.
func CheckRegistered(name string) error {
	if cloudprovider.IsCloudProvider(name) {
		return nil
	}
	return fmt.Errorf("--cloud-provider: %q is not linked into this binary: its main.go needs a blank import of the package that registers it", name)
}

// Registered makes the provider that has registered itself under the name.
func Registered(name string, config io.Reader) (cloudprovider.Interface, error) {
	if err := CheckRegistered(name); err != nil {
		return nil, err
	}
	// InitCloudProvider is not used, because it opens the configuration file itself,
	// and ends the process if that fails.
	return cloudprovider.GetCloudProvider(name, config)
}

// Unwrap returns the provider as its factory returned it. It is meant for
// controllers that a vendor's program adds, because these might know the concrete type. No other code of the daemon calls the
// provider's methods.
func (p *Provider) Unwrap() cloudprovider.Interface { return p.theirs }

// HasClusterID reports whether the provider knows which cluster it belongs to.
func (p *Provider) HasClusterID() bool { return p.clusterID }

// Initialize tells the provider that this replica leads. It must be called only once,
// because providers start goroutines in Initialize. These goroutines end when ctx ends.
// Initialize returns only when the provider does. Until then the provider might be
// changing things, and the lease must not be released.
func (p *Provider) Initialize(ctx context.Context, clients cloudprovider.ControllerClientBuilder) error {
	return guard(context.WithoutCancel(ctx), "Initialize", func() error {
		p.theirs.Initialize(clients, ctx.Done())
		return nil
	})
}

// SetInformers gives the informers to a provider that uses informers. Like
// Initialize, it returns only when the provider does.
func (p *Provider) SetInformers(ctx context.Context, shared informers.SharedInformerFactory) error {
	if p.extras.informers == nil {
		return nil
	}
	return guard(context.WithoutCancel(ctx), "SetInformers", func() error {
		p.extras.informers.SetInformers(shared)
		return nil
	})
}

// CanReload reports whether the provider accepts a new configuration at run time.
func (p *Provider) CanReload() bool { return p.extras.reloader != nil }

// Reload gives the provider a new configuration. It must be called only if CanReload
// returns true. When ctx ends, Reload returns even if the provider has not returned.
// Until the provider returns, the next Reload fails, because two reloads must not
// overlap. When nobody reads config any more, the function done is called. That can be
// after Reload has returned.
func (p *Provider) Reload(ctx context.Context, config io.Reader, done func()) error {
	if !p.reloading.TryLock() {
		done()
		return errors.New("the last Reload has not returned yet")
	}
	return guard(ctx, "Reload", func() error {
		defer p.reloading.Unlock()
		defer done()
		return p.extras.reloader.Reload(ctx, config)
	})
}

// guardNotice is the time that the provider's code gets at the start of the
// process, or for a reload. If it takes longer, the log reports that.
const guardNotice = 30 * time.Second

// guard runs code of the provider that is not a call to the cloud. It turns a panic
// into an error. It waits until the code returns or ctx ends, and logs if that
// takes long.
func guard(ctx context.Context, name string, code func() error) error {
	logger := klog.FromContext(ctx)
	done := make(chan error, 1)
	go func() {
		err := fmt.Errorf("%s: %w", name, errEnded)
		defer func() { done <- err }()
		err = recovered(logger, name, code)
	}()
	slow := time.NewTicker(guardNotice)
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
