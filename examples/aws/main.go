// Command aws-cloud-controller-manager is the daemon with the provider of
// k8s.io/cloud-provider-aws, unchanged.
package main

import (
	"github.com/fairlead-k8s/fairlead/ccm"
	aws "k8s.io/cloud-provider-aws/pkg/providers/v1" // registers itself
)

func main() {
	ccm.MainWith(ccm.Options{
		Name:         "aws-cloud-controller-manager",
		ProviderName: aws.ProviderName,
	})
}
