// Command fairlead is Fairlead's daemon with two additional providers, which answer from
// lists. If a scenario needs only the simulated provider, the benchmark runs the released
// daemon instead.
package main

import (
	"github.com/fairlead-k8s/fairlead/ccm"
	_ "github.com/fairlead-k8s/fairlead/test/scale/listing" // providers "listing" and "listing-cached"
)

func main() { ccm.Main() }
