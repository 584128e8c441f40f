// Command fairlead is Fairlead's daemon with the provider that answers from
// lists, and with the providers whose errors have lost their type. The benchmark
// runs the released daemon where it needs the simulated provider only.
package main

import (
	"github.com/fairlead-k8s/fairlead/ccm"

	_ "github.com/fairlead-k8s/fairlead/test/scale/listing" // provider "listing"
	_ "github.com/fairlead-k8s/fairlead/test/scale/opaque"  // providers "simulated-text" and "simulated-unreadable"
)

func main() { ccm.Main() }
