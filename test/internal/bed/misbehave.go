package bed

import (
	"github.com/fairlead-k8s/fairlead/simulator"
)

// Misbehaving returns an instance with a label that makes the provider of testccm fail
// for the instance's Node. The argument how is the kind of failure.
func Misbehaving(how string) *simulator.Instance {
	return &simulator.Instance{Labels: map[string]string{"provider-fault": how}}
}
