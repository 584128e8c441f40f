// Remove this line and the next in your copy. They keep this program, whose modules we do not require, out of our build.
//go:build ignore

// Command azure-cloud-controller-manager is the daemon with the provider of
// Azure.
package main

import (
	"context"
	"errors"
	"fmt"

	cloudprovider "k8s.io/cloud-provider"
	"sigs.k8s.io/cloud-provider-azure/pkg/provider"
	"sigs.k8s.io/cloud-provider-azure/pkg/provider/config"

	"github.com/fairlead-k8s/fairlead/ccm"
)

func main() {
	ccm.MainWith(ccm.Options{
		Name:         "azure-cloud-controller-manager",
		ProviderName: "azure",
		With:         []string{"node-ipam-controller"}, // The vendor's manifest has --controllers=* and --allocate-node-cidrs.
		// The provider does not register itself, and uses a client of the cluster
		// before Initialize is called.
		Provider: func(_ context.Context, d ccm.ProviderDeps) (cloudprovider.Interface, error) {
			if d.Config == nil {
				return nil, errors.New("--cloud-config is needed")
			}
			c, err := config.ParseConfig(d.Config)
			if err != nil {
				return nil, fmt.Errorf("--cloud-config: %w", err)
			}
			return provider.NewCloud(d.Lasting, d.Clients, c, true)
		},
	})
}
