package app

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// cachePatience is how long our controllers wait for the caches of a provider
// that uses informers. It may have asked for objects that it must not read.
const cachePatience = 30 * time.Second

// newProviderInformers makes the informers for the provider. What they hold is
// whole: nobody knows what a provider looks at.
func newProviderInformers(client kubernetes.Interface, resync time.Duration) informers.SharedInformerFactory {
	return informers.NewSharedInformerFactory(client, resync)
}

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
