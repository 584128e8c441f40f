// Remove this line and the next in your copy. They keep this program, whose modules we do not require, out of our build.
//go:build ignore

// Command scaleway-cloud-controller-manager is the daemon with the provider of
// Scaleway.
package main

import (
	"github.com/scaleway/scaleway-cloud-controller-manager/scaleway" // registers itself

	"github.com/fairlead-k8s/fairlead/ccm"
)

func main() {
	ccm.MainWith(ccm.Options{
		Name:         "scaleway-cloud-controller-manager",
		ProviderName: scaleway.ProviderName,
	})
}
