// Command fairlead is Fairlead's daemon with the provider that answers from
// lists. With the simulated provider the released daemon is measured.
package main

import (
	"github.com/fairlead-k8s/fairlead/ccm"

	_ "github.com/fairlead-k8s/fairlead/test/scale/listing" // provider "listing"
)

func main() { ccm.Main() }
