// Command fairlead is Fairlead's daemon with three additional providers: one
// that answers from lists, and two whose errors have lost their type. If a
// scenario needs only the simulated provider, the benchmark runs the released
// daemon instead.
package main

import (
	"github.com/fairlead-k8s/fairlead/ccm"
	_ "github.com/fairlead-k8s/fairlead/test/scale/listing" // provider "listing"
	_ "github.com/fairlead-k8s/fairlead/test/scale/opaque"  // providers "simulated-text" and "simulated-unreadable"
)

func main() { ccm.Main() }
