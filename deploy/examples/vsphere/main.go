// Remove this line and the next in your copy. They keep this program, whose modules we do not require, out of our build.
//go:build ignore

// Command vsphere-cloud-controller-manager is the daemon with the provider of
// vSphere.
package main

import (
	"context"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere" // registers itself
	"k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/loadbalancer"
	"k8s.io/cloud-provider-vsphere/pkg/cloudprovider/vsphere/options"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/ccm"
)

const name = "vsphere-cloud-controller-manager"

var version string // set with -ldflags

func main() {
	var flags cliflag.NamedFlagSets
	options.AddFlags(flags.FlagSet("vsphere"))
	loadbalancer.AppName, loadbalancer.Version = name, version
	ccm.MainWith(ccm.Options{
		Name:         name,
		Version:      version,
		ProviderName: vsphere.RegisteredProviderName,
		Flags:        flags,
		Provider: func(_ context.Context, d ccm.ProviderDeps) (cloudprovider.Interface, error) {
			loadbalancer.ClusterName = d.Flags.Lookup("cluster-name").Value.String()
			return d.Registered()
		},
		// vCenter allows few sessions.
		Stopped: func(context.Context) { vsphere.SessionLogout() },
	})
}
