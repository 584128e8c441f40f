// Command acme-cloud-controller-manager connects Kubernetes clusters to the
// cloud acme.
package main

import (
	"github.com/fairlead-k8s/fairlead/ccm"

	"github.com/fairlead-k8s/fairlead/examples/provider/provider"
)

func main() {
	ccm.MainWith(ccm.Options{
		Name:         "acme-cloud-controller-manager",
		ProviderName: provider.Name, // the default of --cloud-provider
	})
}
