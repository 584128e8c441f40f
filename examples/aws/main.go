// Command aws-cloud-controller-manager is the daemon with the provider and the
// tagging controller of k8s.io/cloud-provider-aws. Both are unchanged.
package main

import (
	aws "k8s.io/cloud-provider-aws/pkg/providers/v1" // registers itself
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/fairlead-k8s/fairlead/ccm"
)

func main() {
	var flags cliflag.NamedFlagSets
	ccm.MainWith(ccm.Options{
		Name:         "aws-cloud-controller-manager",
		ProviderName: aws.ProviderName,
		Controllers:  []ccm.Controller{tagging(flags.FlagSet("tagging controller"))},
		Flags:        flags,
	})
}
