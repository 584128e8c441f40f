// Command cloud-controller-manager is the daemon with the simulated cloud as
// its provider. A vendor's daemon is this file with another import.
package main

import (
	"github.com/fairlead-k8s/fairlead/ccm"
	_ "github.com/fairlead-k8s/fairlead/providers/simulated" // provider "simulated"
)

func main() { ccm.Main() }
