// Remove this line and the next in your copy. They keep this program, whose modules we do not require, out of our build.
//go:build ignore

// Command hcloud-cloud-controller-manager is the daemon with the provider of
// Hetzner Cloud.
package main

import (
	"context"

	"github.com/hetznercloud/hcloud-cloud-controller-manager/hcloud"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/ccm"
)

func main() {
	ccm.MainWith(ccm.Options{
		Name:         "hcloud-cloud-controller-manager",
		ProviderName: "hcloud",
		// The provider does not register itself: it is made from a flag and a lister
		// of Nodes, whose cache is filled before the provider is first called.
		Provider: func(_ context.Context, d ccm.ProviderDeps) (cloudprovider.Interface, error) {
			return hcloud.NewCloud(d.Flags.Lookup("cluster-cidr").Value.String(), d.Informers.Core().V1().Nodes().Lister())
		},
	})
}
