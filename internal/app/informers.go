package app

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/klog/v2"
)

// cachePatience is how long our controllers wait for the caches of a provider
// that uses informers. It may have asked for objects that it must not read.
const cachePatience = 30 * time.Second

// startProviderInformers starts what the provider has asked for and waits for
// its caches, because the provider may look into them from our first call on.
func startProviderInformers(ctx context.Context, factory informers.SharedInformerFactory) {
	factory.StartWithContext(ctx)
	waiting, cancel := context.WithTimeout(ctx, cachePatience)
	defer cancel()
	if err := factory.WaitForCacheSyncWithContext(waiting).Err; err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Informers of the provider are not in sync; going on without")
	}
}
