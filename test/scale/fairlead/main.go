// Command fairlead is Fairlead's daemon with four additional providers: two
// that answer from lists, and two whose errors have lost their type. If a
// scenario needs only the simulated provider, the benchmark runs the released
// daemon instead.
package main

import (
	"github.com/fairlead-k8s/fairlead/ccm"
	_ "github.com/fairlead-k8s/fairlead/test/scale/listing" // providers "listing" and "listing-cached"
	_ "github.com/fairlead-k8s/fairlead/test/scale/opaque"  // providers "simulated-text" and "simulated-unreadable"
)

func main() { ccm.Main() }
