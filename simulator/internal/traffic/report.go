package traffic

import (
	"cmp"
	"slices"
	"sync/atomic"
)

// Health reports whether a backend gets new connections.
type Health string

// The health of a backend.
const (
	Checking  Health = "checking" // no check has succeeded yet
	Healthy   Health = "healthy"
	Unhealthy Health = "unhealthy"
	Draining  Health = "draining" // it was removed
)

// Report describes the traffic of a load balancer.
type Report struct {
	Listeners []ListenerReport
	// Backends are the wanted backends, in order, and then the draining backends.
	Backends []BackendReport
}

// ListenerReport describes the traffic of one listener.
type ListenerReport struct {
	Listener
	// Address is the address at which it listens; empty if it does not listen.
	Address string
	// Problem says why it does not listen; empty if it listens.
	Problem string
	// Connections counts the connections that were forwarded. Denied counts the
	// connections from outside the source ranges. Rejected counts the connections
	// for which no backend was found.
	Connections, Denied, Rejected int64
}

// BackendReport describes the traffic of one backend.
type BackendReport struct {
	ID     string
	Health Health
	Why    string // why it is not healthy
	// Open counts the open connections. Connections counts all connections so far.
	// Failures counts the connections that the backend did not take.
	Open, Connections, Failures int64
	// BytesIn counts the bytes from clients. BytesOut counts the bytes to clients.
	BytesIn, BytesOut int64
}

// tally counts the traffic of one backend, on all listeners.
type tally struct {
	open, connections, failures, bytesIn, bytesOut atomic.Int64
}

// doorTally counts the traffic of one listener.
type doorTally struct {
	connections, denied, rejected atomic.Int64
}

// Report describes the traffic of a load balancer. It returns false if no load
// balancer has that ID.
func (p *Plane) Report(id string) (Report, bool) {
	p.mu.Lock()
	b := p.balancers[id]
	p.mu.Unlock()
	if b == nil {
		return Report{}, false
	}
	return b.report(), true
}

func (b *balancer) report() Report {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := Report{Listeners: []ListenerReport{}, Backends: []BackendReport{}}
	for _, l := range b.wanted.Listeners {
		if f := b.fronts[b.wanted.door(l)]; f != nil {
			r.Listeners = append(r.Listeners, f.report(l))
		}
	}
	for _, backend := range b.wanted.Backends {
		told := BackendReport{ID: backend.ID, Health: Unhealthy, Why: backend.Off}
		if backend.Off == "" {
			told.Health, told.Why = b.health(backend)
		}
		r.Backends = append(r.Backends, told.with(b.tallies[backend.ID]))
	}
	for _, id := range b.drainingOnly() {
		r.Backends = append(r.Backends, BackendReport{ID: id, Health: Draining}.with(b.tallies[id]))
	}
	return r
}

func (f *front) report(l Listener) ListenerReport {
	return ListenerReport{
		Listener: l, Address: f.shown, Problem: f.problem,
		Connections: f.tally.connections.Load(), Denied: f.tally.denied.Load(), Rejected: f.tally.rejected.Load(),
	}
}

func (r BackendReport) with(t *tally) BackendReport {
	if t == nil {
		return r
	}
	r.Open, r.Connections, r.Failures = t.open.Load(), t.connections.Load(), t.failures.Load()
	r.BytesIn, r.BytesOut = t.bytesIn.Load(), t.bytesOut.Load()
	return r
}

// health returns the worst health of a backend on any listener. b.mu is held.
func (b *balancer) health(backend Backend) (Health, string) {
	worst, why := Healthy, ""
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

func badness(h Health) int { return slices.Index([]Health{Healthy, Draining, Checking, Unhealthy}, h) }

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
