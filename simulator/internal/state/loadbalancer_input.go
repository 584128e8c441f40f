package state

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// newLoadBalancer returns the load balancer that a request asks to create. It has no ID
// and no address yet.
func newLoadBalancer(l wire.LoadBalancer) (wire.LoadBalancer, error) {
	switch {
	case l.ID != "":
		return l, input.Invalid("id", "must be empty; the cloud sets it")
	case l.State != "":
		return l, input.Invalid("state", "must be empty; the cloud decides it")
	case l.Address != "":
		return l, input.Invalid("address", "must be empty; the cloud sets it; to choose it, set staticIP")
	case l.Traffic != nil:
		return l, input.Invalid("traffic", "must be empty; the cloud counts it")
	}
	if l.SourceRanges == nil {
		l.SourceRanges = []string{wire.Everyone}
	}
	return checkedLoadBalancer(l)
}

// patchedLoadBalancer returns the load balancer with the patch applied.
func patchedLoadBalancer(l wire.LoadBalancer, p wire.LoadBalancerPatch) (wire.LoadBalancer, error) {
	l.Tags = maps.Clone(l.Tags)
	l.Tags = merged(l.Tags, p.Tags)
	if p.StaticIP != nil {
		l.StaticIP = *p.StaticIP
	}
	if p.Listeners != nil {
		l.Listeners = p.Listeners
	}
	if p.Backends != nil {
		l.Backends = p.Backends
	}
	if p.SourceRanges != nil {
		l.SourceRanges = p.SourceRanges
	}
	if p.Affinity != nil {
		l.Affinity = *p.Affinity
	}
	if p.HealthCheck != nil {
		l.HealthCheck = *p.HealthCheck
	}
	if p.Drain != nil {
		l.Drain = p.Drain
		if *p.Drain < 0 {
			l.Drain = nil
		}
	}
	return checkedLoadBalancer(l)
}

// checkedLoadBalancer checks a load balancer and returns it in its stored form.
func checkedLoadBalancer(l wire.LoadBalancer) (wire.LoadBalancer, error) {
	if err := input.CheckName(l.Name, wire.MaxLoadBalancerName); err != nil {
		return l, err
	}
	if err := input.CheckTags(l.Tags); err != nil {
		return l, err
	}
	if err := checkListeners(l.Listeners); err != nil {
		return l, err
	}
	backends, err := checkedBackends(l.Backends)
	if err != nil {
		return l, err
	}
	ranges, err := checkedRanges(l.SourceRanges)
	if err != nil {
		return l, err
	}
	l.Backends, l.SourceRanges = backends, ranges
	switch {
	case l.Affinity < 0:
		return l, input.Invalid("affinity", "must not be negative")
	case l.Drain != nil && *l.Drain < 0:
		return l, input.Invalid("drain", "must not be negative")
	}
	return l, checkHealthCheck(l.HealthCheck)
}

func checkListeners(all []wire.Listener) error {
	if len(all) == 0 {
		return input.Invalid("listeners", "must not be empty")
	}
	type door struct {
		protocol wire.Protocol
		port     int
	}
	taken := map[door]bool{}
	for n, l := range all {
		field := fmt.Sprintf("listeners[%d]", n)
		if !slices.Contains(wire.Protocols(), l.Protocol) {
			return input.Invalid(field+".protocol", "%q is not one of %s", l.Protocol, input.List(wire.Protocols()))
		}
		if err := input.CheckPort(field+".port", l.Port); err != nil {
			return err
		}
		if err := input.CheckPort(field+".backendPort", l.BackendPort); err != nil {
			return err
		}
		if taken[door{l.Protocol, l.Port}] {
			return input.Invalid(field, "%s %d is given twice", l.Protocol, l.Port)
		}
		taken[door{l.Protocol, l.Port}] = true
	}
	return nil
}

// checkedBackends checks the IDs of backends, and returns them in order, without
// duplicates.
func checkedBackends(ids []string) ([]string, error) {
	for n, id := range ids {
		if _, ok := instanceIDs.number(id); !ok {
			return nil, input.Invalid(fmt.Sprintf("backends[%d]", n), "%q is not an instance ID", id)
		}
	}
	return sortedSet(ids), nil
}

// checkedRanges returns the ranges in one notation and in order, without
// duplicates.
func checkedRanges(ranges []string) ([]string, error) {
	if len(ranges) == 0 {
		return nil, input.Invalid("sourceRanges", "must not be empty; %s is everyone", wire.Everyone)
	}
	all := make([]string, len(ranges))
	for n, text := range ranges {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, input.Invalid(fmt.Sprintf("sourceRanges[%d]", n), "%q is not a range such as 192.0.2.0/24", text)
		}
		all[n] = prefix.Masked().String()
	}
	return sortedSet(all), nil
}

func checkHealthCheck(h wire.HealthCheck) error {
	switch {
	case h.Port == 0 && h.Path != "":
		return input.Invalid("healthCheck.port", "must be given with a path")
	case h.Port != 0 && (h.Port < 1 || h.Port > 65535):
		return input.Invalid("healthCheck.port", "%d is not a port", h.Port)
	case h.Path != "" && !strings.HasPrefix(h.Path, "/"):
		return input.Invalid("healthCheck.path", "%q must start with a slash", h.Path)
	}
	return nil
}

// sortedSet returns the words in order and without duplicates, in a new slice that is
// never nil.
func sortedSet(words []string) []string {
	sorted := append([]string{}, words...)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}
