package provider

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
)

// cacheTimeout is the longest time that our controllers wait for the caches of the
// provider's informers. Some caches might never fill, because the provider has no
// right to read the objects.
const cacheTimeout = 30 * time.Second

// Initialize calls the provider's Initialize, passes the informer factory to the
// provider, and starts the informers that the provider has requested. A daemon calls
// it once this replica leads, and only once, because providers start goroutines
// here. These goroutines end with ctx.
func (m Made) Initialize(ctx context.Context, clients cloudprovider.ControllerClientBuilder) error {
	err := m.Cloud.Initialize(ctx, clients)
	if err == nil && ctx.Err() == nil {
		err = m.Cloud.SetInformers(ctx, m.Informers)
	}
	if err == nil {
		startInformers(ctx, m.Informers)
	}
	return err
}

// startInformers starts the informers that the provider has requested. Then it waits
// for their caches, because the provider may read the caches during our first call.
func startInformers(ctx context.Context, factory informers.SharedInformerFactory) {
	factory.StartWithContext(ctx)
	waiting, cancel := context.WithTimeout(ctx, cacheTimeout)
	defer cancel()
	if err := factory.WaitForCacheSyncWithContext(waiting).Err; err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Informers of the provider are not in sync; continuing without them")
	}
}
