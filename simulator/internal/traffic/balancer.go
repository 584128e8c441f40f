package traffic

import (
	"errors"
	"net/netip"
	"sync"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// balancer is one load balancer. Only Apply and Close change it, and only one of them
// runs at a time. They lock mu when they write, because other goroutines read.
type balancer struct {
	plane  *Plane
	id     string
	sticky *stickiness

	mu      sync.Mutex
	wanted  Balancer               // guarded by mu
	fronts  map[door]*front        // guarded by mu
	leaving []*front               // guarded by mu; closed, but connections drain
	probes  map[probeTarget]*probe // guarded by mu
	tallies map[string]*tally      // guarded by mu; by backend
}

// door is the protocol, address and port at which a front listens.
type door struct {
	protocol wire.Protocol
	at       netip.AddrPort
}

func newBalancer(p *Plane, id string) *balancer {
	return &balancer{
		plane: p, id: id, sticky: newStickiness(p.clock),
		fronts: map[door]*front{}, probes: map[probeTarget]*probe{}, tallies: map[string]*tally{},
	}
}

func (w Balancer) door(l Listener) door {
	return door{l.Protocol, netip.AddrPortFrom(w.Address, l.Port)}
}

// giveUp closes the fronts that are no longer wanted. Their TCP connections
// drain, and their UDP sessions end at once.
func (b *balancer) giveUp(w Balancer) {
	keep := map[door]bool{}
	for _, l := range w.Listeners {
		keep[w.door(l)] = true
	}
	var gone []*front
	b.mu.Lock()
	for d, f := range b.fronts {
		if !keep[d] {
			delete(b.fronts, d)
			gone = append(gone, f)
		}
	}
	b.leaving = append(b.leaving, gone...)
	b.mu.Unlock()
	for _, f := range gone {
		f.shut()
		drain := w.Drain
		if f.door.protocol == wire.UDP {
			drain = 0 // answers to the client need the socket, which is now closed
		}
		f.pool.set(nil, nil, drain)
	}
}

// apply makes the remaining wanted changes. It must be called after giveUp.
func (b *balancer) apply(w Balancer) error {
	b.sticky.set(w.Affinity)
	superfluous := b.prepare(w)
	var problems []error
	for _, l := range w.Listeners {
		f := b.front(w.door(l))
		f.pool.set(w.SourceRanges, b.members(w, l), w.Drain)
		if err := f.open(); err != nil {
			problems = append(problems, err)
		}
	}
	for _, p := range superfluous {
		p.stop()
	}
	b.forget()
	return errors.Join(problems...)
}

// prepare starts the probes that are needed, and returns those that are no longer
// needed.
func (b *balancer) prepare(w Balancer) (superfluous []*probe) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wanted = w
	needed := map[probeTarget]bool{}
	for _, backend := range w.Backends {
		if b.tallies[backend.ID] == nil {
			b.tallies[backend.ID] = &tally{}
		}
		for _, l := range w.Listeners {
			if target, ok := w.probed(l, backend); ok {
				needed[target] = true
			}
		}
	}
	for target, p := range b.probes {
		if !needed[target] {
			superfluous = append(superfluous, p)
			delete(b.probes, target)
		}
	}
	for target := range needed {
		if b.probes[target] == nil {
			b.probes[target] = b.plane.startProbe(b.id, target)
		}
	}
	return superfluous
}

// probed returns the target of a backend's health checks at a listener. It returns false
// if the backend is not checked there.
func (w Balancer) probed(l Listener, backend Backend) (probeTarget, bool) {
	switch {
	case !backend.Address.IsValid() || backend.Off != "":
		return probeTarget{}, false
	case w.Check.Port != 0:
		return probeTarget{netip.AddrPortFrom(backend.Address, w.Check.Port), w.Check.Path}, true
	case l.Protocol == wire.TCP:
		return probeTarget{netip.AddrPortFrom(backend.Address, l.BackendPort), ""}, true
	}
	return probeTarget{}, false
}

// members returns the wanted members of a listener's pool.
func (b *balancer) members(w Balancer, l Listener) []membership {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []membership
	for _, backend := range w.Backends {
		if !backend.Address.IsValid() {
			continue
		}
		m := membership{
			place: place{backend.ID, netip.AddrPortFrom(backend.Address, l.BackendPort)},
			off:   backend.Off != "",
			tally: b.tallies[backend.ID],
		}
		if target, ok := w.probed(l, backend); ok {
			m.probe = b.probes[target]
		}
		all = append(all, m)
	}
	return all
}

// front returns the front that listens at this address and port. It creates one
// if there is none.
func (b *balancer) front(d door) *front {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fronts[d] == nil {
		b.fronts[d] = newFront(b, d)
	}
	return b.fronts[d]
}

// forget releases closed fronts and tallies that are no longer needed.
func (b *balancer) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	var leaving []*front
	for _, f := range b.leaving {
		if len(f.pool.drainingBackends()) > 0 {
			leaving = append(leaving, f)
		}
	}
	b.leaving = leaving
	needed := map[string]bool{}
	for _, w := range b.wanted.Backends {
		needed[w.ID] = true
	}
	for _, id := range b.drainingOnly() {
		needed[id] = true
	}
	for id := range b.tallies {
		if !needed[id] {
			delete(b.tallies, id)
		}
	}
}

// pools returns all pools. b.mu is held.
func (b *balancer) pools() []*pool {
	var all []*pool
	for _, f := range b.fronts {
		all = append(all, f.pool)
	}
	for _, f := range b.leaving {
		all = append(all, f.pool)
	}
	return all
}

// close ends the load balancer and cuts its connections.
func (b *balancer) close() {
	b.mu.Lock()
	fronts := append([]*front{}, b.leaving...)
	for _, f := range b.fronts {
		fronts = append(fronts, f)
	}
	probes := b.probes
	b.fronts, b.leaving, b.probes = map[door]*front{}, nil, map[probeTarget]*probe{}
	b.wanted = Balancer{}
	b.mu.Unlock()
	for _, f := range fronts {
		f.shut()
		f.pool.end()
	}
	for _, p := range probes {
		p.stop()
	}
}
