// Remove this line and the next in your copy. They keep this program, whose modules we do not require, out of our build.
//go:build ignore

// Command digitalocean-cloud-controller-manager is the daemon with the provider
// of DigitalOcean.
package main

import (
	"github.com/digitalocean/digitalocean-cloud-controller-manager/cloud-controller-manager/do" // registers itself

	"github.com/fairlead-k8s/fairlead/ccm"
)

func main() {
	ccm.MainWith(ccm.Options{
		Name:         "digitalocean-cloud-controller-manager",
		ProviderName: do.ProviderName,
		// The vendor's main does not read the ConfigMap
		// extension-apiserver-authentication, and does not ask for a cluster ID.
		Defaults: map[string]string{"authentication-skip-lookup": "true", "allow-untagged-cloud": "true"},
	})
}
