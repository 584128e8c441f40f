// Command cloud-controller-manager is the daemon with the provider of the
// simulated cloud. The main.go of another cloud's daemon differs only in the
// import of the provider.
package main

import (
	"github.com/fairlead-k8s/fairlead/ccm"
	_ "github.com/fairlead-k8s/fairlead/providers/simulated" // provider "simulated"
)

func main() { ccm.Main() }
