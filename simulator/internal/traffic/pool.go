package traffic

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// place identifies a backend and its port for one listener.
type place struct {
	backend string
	at      netip.AddrPort
}

// membership is the wanted state of a member.
type membership struct {
	place

	off   bool   // it gets no new connections
	probe *probe // its probe; nil means that it is always healthy
	tally *tally
}

func (m membership) well() bool {
	if m.off || m.probe == nil {
		return !m.off
	}
	h, _ := m.probe.state()
	return h == wire.BackendHealthy
}

// pool chooses a member for each connection.
type pool struct {
	plane  *Plane
	sticky *stickiness

	mu       sync.Mutex
	ranges   []netip.Prefix // guarded by mu
	members  []*member      // guarded by mu
	draining []*member      // guarded by mu
	next     int            // guarded by mu; the next member in turn
}

func newPool(p *Plane, sticky *stickiness) *pool { return &pool{plane: p, sticky: sticky} }

// admits reports whether the source ranges admit a client.
func (p *pool) admits(client netip.Addr) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.ranges, func(r netip.Prefix) bool { return r.Contains(client) })
}

// pick returns the member for the next connection of a client, and the context for
// opening the connection. It skips the members that were tried already. It returns nil if
// no other member can take connections. The caller must call Done on the member's dials
// once the member has admitted the connection or the attempt has failed.
func (p *pool) pick(client netip.Addr, tried []*member) (*member, context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.choose(p.sticky.backend(client), tried)
	if m == nil {
		return nil, nil
	}
	p.sticky.note(client, m.backend)
	m.dials.Add(1)
	return m, m.stay
}

// choose returns the member of the given backend if it can take connections,
// else the next one. p.mu is held.
func (p *pool) choose(favourite string, tried []*member) *member {
	able := func(m *member) bool { return m.well() && !slices.Contains(tried, m) }
	if favourite != "" {
		for _, m := range p.members {
			if m.backend == favourite && able(m) {
				return m
			}
		}
	}
	for n := range p.members {
		i := (p.next + n) % len(p.members)
		if m := p.members[i]; able(m) {
			p.next = i + 1
			return m
		}
	}
	return nil
}

// set replaces the members. A member that is no longer wanted keeps its connections for
// the drain time. It gets no new connections after set has returned.
func (p *pool) set(ranges []netip.Prefix, wanted []membership, drain time.Duration) {
	for m, stay := range p.replace(ranges, wanted) {
		if drain == 0 {
			m.refuse() // a connection that is being opened is not cut, but tries another member
		}
		m.dials.Wait() // does not take long, because these dials were canceled
		if drain == 0 || !m.busy() {
			p.over(stay, m)
			continue
		}
		p.plane.running.Go(func() { p.drain(stay, m, drain) })
	}
}

// replace sets the source ranges and the members. It returns the members that have
// to drain, each with a context that ends when its drain ends.
func (p *pool) replace(ranges []netip.Prefix, wanted []membership) map[*member]context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ranges = ranges
	old := map[place]*member{}
	for _, m := range p.members {
		old[m.place] = m
	}
	p.members = nil
	for _, w := range wanted {
		m := old[w.place]
		delete(old, w.place)
		if m == nil {
			m = p.returning(w.place)
		}
		if m == nil {
			m = newMember(p.plane.life, w)
		}
		m.off, m.probe = w.off, w.probe
		p.members = append(p.members, m)
	}
	leaving := map[*member]context.Context{}
	for _, m := range old {
		m.turn(p.plane.life)
		leaving[m] = m.stay
		p.draining = append(p.draining, m)
	}
	return leaving
}

// returning finds a draining member at the place and makes it a member of the
// pool again. It returns nil if there is none. p.mu is held.
func (p *pool) returning(at place) *member {
	for i, m := range p.draining {
		if m.place == at {
			p.draining = slices.Delete(p.draining, i, i+1)
			m.turn(p.plane.life)
			return m
		}
	}
	return nil
}

// drain waits for the connections of a member to end, for at most the given
// time. It stops waiting if the member joins the pool again.
func (p *pool) drain(stay context.Context, m *member, d time.Duration) {
	timer := p.plane.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-m.idled():
	case <-stay.Done():
	}
	p.over(stay, m)
}

// over ends a draining member, unless it has joined the pool again.
func (p *pool) over(stay context.Context, m *member) {
	p.mu.Lock()
	if stay.Err() != nil {
		p.mu.Unlock()
		return
	}
	m.giveUp()
	p.draining = slices.DeleteFunc(p.draining, func(d *member) bool { return d == m })
	p.mu.Unlock()
	m.end()
}

// drainingBackends returns the backends with a draining member.
func (p *pool) drainingBackends() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ids []string
	for _, m := range p.draining {
		ids = append(ids, m.backend)
	}
	return ids
}

// end cuts all connections. The pool admits no more.
func (p *pool) end() {
	p.mu.Lock()
	all := slices.Concat(p.members, p.draining)
	p.members, p.draining, p.ranges = nil, nil, nil
	for _, m := range all {
		m.giveUp()
	}
	p.mu.Unlock()
	for _, m := range all {
		m.end()
	}
}

// stickiness remembers the backend of each client, for all listeners.
type stickiness struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	timeout time.Duration         // guarded by mu; 0 means that no client is remembered
	visits  map[netip.Addr]*visit // guarded by mu
	prune   int                   // guarded by mu; number of visits at which old ones are removed
}

// visit is the last connection of a client.
type visit struct {
	backend string
	at      time.Time
}

// fewVisits is the smallest number of visits at which old ones are removed.
const fewVisits = 1024

func newStickiness(c clock.PassiveClock) *stickiness {
	return &stickiness{clock: c, visits: map[netip.Addr]*visit{}, prune: fewVisits}
}

func (s *stickiness) set(timeout time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timeout = timeout
	if timeout == 0 {
		clear(s.visits)
	}
}

// backend returns the remembered backend of the client; empty if there is none.
func (s *stickiness) backend(client netip.Addr) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.visits[client]; v != nil && s.clock.Since(v.at) < s.timeout {
		return v.backend
	}
	return ""
}

func (s *stickiness) note(client netip.Addr, backend string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timeout == 0 {
		return
	}
	s.visits[client] = &visit{backend, s.clock.Now()}
	if len(s.visits) < s.prune {
		return
	}
	for client, v := range s.visits {
		if s.clock.Since(v.at) >= s.timeout {
			delete(s.visits, client)
		}
	}
	s.prune = max(fewVisits, 2*len(s.visits))
}
