// Remove this line and the next in your copy. They keep this program, whose modules we do not require, out of our build.
//go:build ignore

// Command vultr-cloud-controller-manager is the daemon with the provider of
// Vultr.
package main

import (
	"context"
	"sync"

	"github.com/vultr/vultr-cloud-controller-manager/vultr" // registers itself
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/ccm"
)

func main() {
	// The watch of Secrets panics when its context ends, so it gets a
	// context that does not end before the process.
	watch := sync.OnceFunc(func() {
		vultr.SetupSecretWatcher(context.Background())
		go vultr.SecretWatcher.WatchSecrets()
	})
	ccm.MainWith(ccm.Options{
		Name:         "vultr-cloud-controller-manager",
		ProviderName: vultr.ProviderName,
		// The vendor's main does not read the ConfigMap
		// extension-apiserver-authentication, and does not ask for a cluster ID.
		Defaults: map[string]string{"authentication-skip-lookup": "true", "allow-untagged-cloud": "true"},
		Provider: func(_ context.Context, d ccm.ProviderDeps) (cloudprovider.Interface, error) {
			vultr.Options.KubeconfigFlag = d.Flags.Lookup("kubeconfig")
			watch()
			return d.Registered()
		},
	})
}
