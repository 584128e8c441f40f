// Remove this line and the next in your copy. They keep this program, whose modules we do not require, out of our build.
//go:build ignore

// Command oci-cloud-controller-manager is the daemon with the provider of
// Oracle Cloud.
package main

import (
	"github.com/oracle/oci-cloud-controller-manager/pkg/cloudprovider/providers/oci" // registers itself
	"github.com/oracle/oci-cloud-controller-manager/pkg/logging"
	"go.uber.org/zap"

	"github.com/fairlead-k8s/fairlead/ccm"
)

var version string // set with -ldflags

func main() {
	zap.ReplaceGlobals(logging.Logger()) // the provider logs with it
	ccm.MainWith(ccm.Options{
		Name:         "oci-cloud-controller-manager",
		Version:      version,
		ProviderName: oci.ProviderName(),
	})
}
