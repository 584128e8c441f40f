package simulated

import (
	"reflect"
	"slices"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// difference returns the patch that turns a load balancer into the wanted one,
// and the names of the changed fields. If there are no names, nothing has to
// change. The patch removes no tags, because other programs may use them.
func difference(is, wanted simulator.LoadBalancer) (patch simulator.LoadBalancerPatch, changed []string) {
	for key, value := range wanted.Tags {
		if is.Tags[key] != value {
			if patch.Tags == nil {
				patch.Tags = map[string]*string{}
				changed = append(changed, "tags")
			}
			patch.Tags[key] = &value
		}
	}
	if is.StaticIP != wanted.StaticIP {
		patch.StaticIP = &wanted.StaticIP
		changed = append(changed, "static IP")
	}
	if !slices.Equal(is.Listeners, wanted.Listeners) {
		patch.Listeners = wanted.Listeners
		changed = append(changed, "listeners")
	}
	if !slices.Equal(is.Backends, wanted.Backends) {
		patch.Backends = wanted.Backends
		changed = append(changed, "backends")
	}
	if !slices.Equal(is.SourceRanges, wanted.SourceRanges) {
		patch.SourceRanges = wanted.SourceRanges
		changed = append(changed, "source ranges")
	}
	if is.Affinity != wanted.Affinity {
		patch.Affinity = &wanted.Affinity
		changed = append(changed, "affinity")
	}
	if is.HealthCheck != wanted.HealthCheck {
		patch.HealthCheck = &wanted.HealthCheck
		changed = append(changed, "health check")
	}
	if !reflect.DeepEqual(is.Drain, wanted.Drain) {
		patch.Drain = wanted.Drain
		if patch.Drain == nil {
			leaveItToTheCloud := simulator.Duration(-1)
			patch.Drain = &leaveItToTheCloud
		}
		changed = append(changed, "drain")
	}
	return patch, changed
}
