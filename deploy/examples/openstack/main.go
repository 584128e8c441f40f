// Remove this line and the next in your copy. They keep this program, whose modules we do not require, out of our build.
//go:build ignore

// Command openstack-cloud-controller-manager is the daemon with the provider of
// OpenStack.
package main

import (
	"k8s.io/cloud-provider-openstack/pkg/openstack" // registers itself
	"k8s.io/cloud-provider-openstack/pkg/version"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/ccm"
)

func main() {
	var flags cliflag.NamedFlagSets
	openstack.AddExtraFlags(flags.FlagSet("OpenStack Client"))
	ccm.MainWith(ccm.Options{
		Name:         "openstack-cloud-controller-manager",
		Version:      version.Version,
		ProviderName: openstack.ProviderName,
		Flags:        flags,
	})
}
