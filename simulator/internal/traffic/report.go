package traffic

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// tally counts the traffic of one backend, on all listeners.
type tally struct {
	open, connections, failures, bytesIn, bytesOut atomic.Int64
}

// doorTally counts the traffic of one listener.
type doorTally struct {
	connections, denied, rejected atomic.Int64
}

// Report describes the traffic of a load balancer. It returns nil if no load balancer has
// that ID.
func (p *Plane) Report(id string) *wire.Traffic {
	p.mu.Lock()
	b := p.balancers[id]
	p.mu.Unlock()
	if b == nil {
		return nil
	}
	return b.report()
}

func (b *balancer) report() *wire.Traffic {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &wire.Traffic{Listeners: []wire.ListenerTraffic{}, Backends: []wire.BackendTraffic{}}
	for _, l := range b.wanted.Listeners {
		if f := b.fronts[b.wanted.door(l)]; f != nil {
			r.Listeners = append(r.Listeners, wire.ListenerTraffic{
				Protocol: l.Protocol, Port: int(l.Port), Address: f.shown, Problem: f.problem,
				Connections: f.tally.connections.Load(), Denied: f.tally.denied.Load(), Rejected: f.tally.rejected.Load(),
			})
		}
	}
	for _, backend := range b.wanted.Backends {
		health, why := wire.BackendUnhealthy, backend.Off
		if backend.Off == "" {
			health, why = b.health(backend)
		}
		r.Backends = append(r.Backends, b.tallies[backend.ID].report(backend.ID, health, why))
	}
	for _, id := range b.drainingOnly() {
		r.Backends = append(r.Backends, b.tallies[id].report(id, wire.BackendDraining, ""))
	}
	return r
}

func (t *tally) report(id string, health wire.BackendHealth, why string) wire.BackendTraffic {
	r := wire.BackendTraffic{Instance: id, Health: health, Why: why}
	if t != nil {
		r.Open, r.Connections, r.Failures = t.open.Load(), t.connections.Load(), t.failures.Load()
		r.BytesIn, r.BytesOut = t.bytesIn.Load(), t.bytesOut.Load()
	}
	return r
}

// health returns the worst health of a backend on any listener. b.mu is held.
func (b *balancer) health(backend Backend) (wire.BackendHealth, string) {
	worst, why := wire.BackendHealthy, ""
	for _, l := range b.wanted.Listeners {
		target, ok := b.wanted.probed(l, backend)
		if !ok {
			continue
		}
		h, text := b.probes[target].state()
		if badness(h) > badness(worst) {
			worst, why = h, text
		}
	}
	return worst, why
}

func badness(h wire.BackendHealth) int {
	return slices.Index([]wire.BackendHealth{wire.BackendHealthy, wire.BackendDraining, wire.BackendChecking, wire.BackendUnhealthy}, h)
}

// drainingOnly returns the backends that are no longer wanted but still have
// connections, in order. b.mu is held.
func (b *balancer) drainingOnly() []string {
	var ids []string
	for _, p := range b.pools() {
		ids = append(ids, p.drainingBackends()...)
	}
	ids = slices.DeleteFunc(ids, func(id string) bool {
		return slices.ContainsFunc(b.wanted.Backends, func(w Backend) bool { return w.ID == id })
	})
	slices.SortFunc(ids, cmp.Compare)
	return slices.Compact(ids)
}
