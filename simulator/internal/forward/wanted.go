package forward

import (
	"net/netip"
	"time"

	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/internal/traffic"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// wanted returns the load balancers that have to carry traffic.
func (f *Forwarder) wanted() []traffic.Balancer {
	var all []traffic.Balancer
	for _, b := range f.config.Store.ActiveLoadBalancers() {
		all = append(all, wantedBalancer(b, f.config.Drain))
	}
	return all
}

// wantedBalancer returns the traffic to carry for one load balancer.
func wantedBalancer(b state.ActiveLoadBalancer, drain time.Duration) traffic.Balancer {
	w := traffic.Balancer{
		ID:       b.ID,
		Address:  netip.MustParseAddr(b.Address), // the state has checked it already
		Affinity: time.Duration(b.Affinity),
		Drain:    drain,
		Check:    traffic.Check{Port: uint16(b.HealthCheck.Port), Path: b.HealthCheck.Path}, //nolint:gosec // the state has checked the port
	}
	if b.Drain != nil {
		w.Drain = time.Duration(*b.Drain)
	}
	for _, l := range b.Listeners {
		w.Listeners = append(w.Listeners, traffic.Listener{
			Protocol: traffic.Protocol(l.Protocol), Port: uint16(l.Port), BackendPort: uint16(l.BackendPort), //nolint:gosec // the state has checked the ports
		})
	}
	for _, r := range b.SourceRanges {
		w.SourceRanges = append(w.SourceRanges, netip.MustParsePrefix(r)) // the state has checked it already
	}
	for n, id := range b.Backends {
		w.Backends = append(w.Backends, wantedBackend(id, b.Instances[n]))
	}
	return w
}

// wantedBackend returns the backend for an instance. The pointer is nil if the
// instance does not exist.
func wantedBackend(id string, i *wire.Instance) traffic.Backend {
	backend := traffic.Backend{ID: id}
	if i == nil {
		backend.Off = "the instance does not exist"
		return backend
	}
	for _, a := range i.Addresses {
		if ip, err := netip.ParseAddr(a.Address); a.Type == wire.InternalIP && err == nil && ip.Is4() {
			backend.Address = ip
			break
		}
	}
	switch {
	case !backend.Address.IsValid():
		backend.Off = "the instance has no InternalIP of IPv4"
	case i.State != wire.Running:
		backend.Off = "the instance is " + string(i.State)
	}
	return backend
}
