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

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
)

// callPatience is how long a provider's code may run on our behalf at start
// before that is worth a line in the log.
const callPatience = 30 * time.Second

// build calls the factory of the provider that the flags name.
func (p *providerOptions) build(ctx context.Context) (cloudprovider.Interface, error) {
	if !cloudprovider.IsCloudProvider(p.name) {
		return nil, fmt.Errorf("--cloud-provider: %q is not linked into this binary: its main.go needs a blank import of the package that registers it", p.name)
	}
	// Not by InitCloudProvider: it ends the process over an unreadable file.
	var config io.Reader // stays a true nil without a file
	if p.configFile != "" {
		file, err := os.Open(p.configFile)
		if err != nil {
			return nil, fmt.Errorf("--cloud-config: %w", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		config = file
	}
	var cloud cloudprovider.Interface
	var tagged bool
	err := call(ctx, "factory", func() (err error) {
		if cloud, err = cloudprovider.GetCloudProvider(p.name, config); err != nil {
			return err
		}
		if isNil(cloud) {
			return errors.New("the factory returned no provider")
		}
		tagged = cloud.HasClusterID()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cloud provider %q: %w", p.name, err)
	}
	if !tagged {
		if !p.allowUntagged {
			return nil, fmt.Errorf("cloud provider %q: no cluster ID found; tag the cluster's instances, or start with --allow-untagged-cloud", p.name)
		}
		klog.FromContext(ctx).Info("Warning: the cluster has no cluster ID, and a provider may need one; tag the cluster's instances", "provider", p.name)
	}
	return cloud, nil
}

// isNil also finds a nil pointer in an interface.
func isNil(cloud cloudprovider.Interface) bool {
	if cloud == nil {
		return true
	}
	v := reflect.ValueOf(cloud)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// initialize tells the provider that this replica leads, and hands it the
// informers that it asks for. Once for each process: providers start goroutines
// of their own here, which end with ctx.
func (p *process) initialize(ctx context.Context) error {
	p.initializing.Store(true)
	defer p.initializing.Store(false)
	// What hangs is waited for: until it returns the provider may be changing
	// things, and the lease must not be given back.
	waiting := context.WithoutCancel(ctx)
	err := call(waiting, "Initialize", func() error {
		p.cloud.Initialize(p.clients.each, ctx.Done())
		return nil
	})
	if err != nil {
		return fmt.Errorf("cloud provider %q: %w", p.options.provider.name, err)
	}
	user, ok := p.cloud.(cloudprovider.InformerUser)
	if !ok || ctx.Err() != nil {
		return nil
	}
	client, err := p.clients.own.Client(informersName)
	if err != nil {
		return fmt.Errorf("client of the provider's informers: %w", err)
	}
	factory := newProviderInformers(client, p.options.controllers.resyncPeriod())
	err = call(waiting, "SetInformers", func() error {
		user.SetInformers(factory)
		return nil
	})
	if err != nil {
		return fmt.Errorf("cloud provider %q: %w", p.options.provider.name, err)
	}
	startProviderInformers(ctx, factory)
	return nil
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
