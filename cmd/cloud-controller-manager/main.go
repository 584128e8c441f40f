// Command cloud-controller-manager is the daemon with two providers: one for the
// simulated cloud, and one for machines without a cloud. The main.go of a cloud's
// daemon imports its own provider instead, and may pass options to ccm.MainWith.
package main

import (
	"github.com/fairlead-k8s/fairlead/ccm"
	_ "github.com/fairlead-k8s/fairlead/providers/simulated" // provider "simulated"
	_ "github.com/fairlead-k8s/fairlead/providers/static"    // provider "static"
)

func main() { ccm.Main() }
