package simulator

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// asCreated is the load balancer that a request to create l means, without an
// ID and an address.
func (l LoadBalancer) asCreated() (LoadBalancer, error) {
	switch {
	case l.ID != "":
		return l, invalid("id", "must be empty; the cloud gives it")
	case l.State != "":
		return l, invalid("state", "must be empty; the cloud decides it")
	case l.Address != "":
		return l, invalid("address", "must be empty; the cloud gives it, and staticIP chooses it")
	case l.Traffic != nil:
		return l, invalid("traffic", "must be empty; the cloud counts it")
	}
	if l.SourceRanges == nil {
		l.SourceRanges = []string{Everyone}
	}
	return l.checked()
}

// patched is the load balancer with the patch applied.
func (l LoadBalancer) patched(p LoadBalancerPatch) (LoadBalancer, error) {
	l = l.clone()
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
	return l.checked()
}

// checked is the load balancer in the form in which it is kept, or the first
// thing that is wrong with it.
func (l LoadBalancer) checked() (LoadBalancer, error) {
	if err := checkName(l.Name, MaxLoadBalancerName); err != nil {
		return l, err
	}
	if err := checkTags(l.Tags); err != nil {
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
		return l, invalid("affinity", "must not be negative")
	case l.Drain != nil && *l.Drain < 0:
		return l, invalid("drain", "must not be negative")
	}
	return l, l.HealthCheck.check()
}

// checkTags demands keys that a filter can name.
func checkTags(tags map[string]string) error {
	for key := range tags {
		if key == "" || strings.Contains(key, "=") {
			return invalid("tags", "%q is no key: it must not be empty and have no equals sign", key)
		}
	}
	return nil
}

func checkListeners(all []Listener) error {
	if len(all) == 0 {
		return invalid("listeners", "must not be empty")
	}
	type door struct {
		protocol Protocol
		port     int
	}
	taken := map[door]bool{}
	for n, l := range all {
		field := fmt.Sprintf("listeners[%d]", n)
		if !slices.Contains(Protocols(), l.Protocol) {
			return invalid(field+".protocol", "%q is none of %s", l.Protocol, list(Protocols()))
		}
		if err := checkPort(field+".port", l.Port); err != nil {
			return err
		}
		if err := checkPort(field+".backendPort", l.BackendPort); err != nil {
			return err
		}
		if taken[door{l.Protocol, l.Port}] {
			return invalid(field, "%s %d is given twice", l.Protocol, l.Port)
		}
		taken[door{l.Protocol, l.Port}] = true
	}
	return nil
}

func checkPort(field string, port int) error {
	if port < 1 || port > 65535 {
		return invalid(field, "%d is no port", port)
	}
	return nil
}

// checkedBackends are the IDs in order, each once.
func checkedBackends(ids []string) ([]string, error) {
	for n, id := range ids {
		if _, ok := instanceIDs.number(id); !ok {
			return nil, invalid(fmt.Sprintf("backends[%d]", n), "%q is no instance ID", id)
		}
	}
	return sortedSet(ids), nil
}

// checkedRanges are the ranges in one form and in order, each once.
func checkedRanges(ranges []string) ([]string, error) {
	if len(ranges) == 0 {
		return nil, invalid("sourceRanges", "must not be empty; %s is everyone", Everyone)
	}
	all := make([]string, len(ranges))
	for n, text := range ranges {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, invalid(fmt.Sprintf("sourceRanges[%d]", n), "%q is no range such as 192.0.2.0/24", text)
		}
		all[n] = prefix.Masked().String()
	}
	return sortedSet(all), nil
}

// sortedSet is never nil, and not the slice that it is given.
func sortedSet(words []string) []string {
	sorted := append([]string{}, words...)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

func (h HealthCheck) check() error {
	switch {
	case h.Port == 0 && h.Path != "":
		return invalid("healthCheck.port", "must be given with a path")
	case h.Port != 0 && (h.Port < 1 || h.Port > 65535):
		return invalid("healthCheck.port", "%d is no port", h.Port)
	case h.Path != "" && !strings.HasPrefix(h.Path, "/"):
		return invalid("healthCheck.path", "%q must start with a slash", h.Path)
	}
	return nil
}
