package bed

import (
	"github.com/fairlead-k8s/fairlead/simulator"
)

// Misbehaving returns an instance for whose Node the provider of testccm fails in
// this way.
func Misbehaving(how string) *simulator.Instance {
	return &simulator.Instance{Labels: map[string]string{"provider-fault": how}}
}
