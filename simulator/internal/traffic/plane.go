// Package traffic carries the traffic of load balancers: it listens at their
// addresses, forwards TCP and UDP to their backends, and checks the health of
// the backends.
//
// Plane.Apply sets the load balancers that are wanted, and Plane.Report describes the
// traffic of one of them. Each listener is a front with a socket. Behind it, a pool has
// one member for each backend, and chooses a member for each connection. A member that
// is no longer wanted drains: it gets no new connections, and keeps its open ones for a
// limited time.
//
// The following is always true:
//
//   - A change of backends interrupts nothing: the socket of a front stays open,
//     and an accepted connection tries one backend after the other until one
//     takes it.
//   - When Apply returns, no new connection goes to a removed backend.
//   - Traffic from outside the source ranges is refused. Without ranges, all
//     traffic is refused.
//   - A connection that no backend takes is reset. A datagram that no backend takes
//     is dropped.
//   - All sockets and goroutines end with Close.
//
// A new backend is checked at once, and gets connections after its first
// success. A healthy backend becomes unhealthy after Checks.UnhealthyAfter
// failures in a row, and healthy again after Checks.HealthyAfter successes in a
// row. An unhealthy backend gets no new connections, but keeps its open
// connections.
package traffic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Config configures a plane. The zero value is valid.
type Config struct {
	// Clock is the clock of the plane; nil means the real one. Deadlines of
	// sockets always follow the real clock.
	Clock  clock.Clock
	Checks Checks
	// IdleUDP is the time that a UDP session may be idle before it ends; default
	// one minute.
	IdleUDP time.Duration
	// Sockets opens the listening sockets; nil means real sockets of the machine.
	Sockets Sockets
}

// Sockets opens sockets. *net.ListenConfig implements it.
type Sockets interface {
	Listen(ctx context.Context, network, address string) (net.Listener, error)
	ListenPacket(ctx context.Context, network, address string) (net.PacketConn, error)
}

// Plane carries the traffic of load balancers. It is safe for concurrent use.
type Plane struct {
	clock   clock.Clock
	checks  Checks
	idleUDP time.Duration
	sockets Sockets

	// life is the context of all goroutines of the plane. It ends at Close, or when the
	// context passed to New ends.
	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	applying sync.Mutex // lets only one Apply or Close run at a time

	mu        sync.Mutex
	balancers map[string]*balancer // guarded by mu; written with applying held
}

// New returns a plane that carries nothing yet. Once ctx has ended, Apply does
// nothing. The sockets stay open until Close.
func New(ctx context.Context, config Config) *Plane {
	p := &Plane{
		clock:     config.Clock,
		checks:    config.Checks.completed(),
		idleUDP:   config.IdleUDP,
		sockets:   config.Sockets,
		balancers: map[string]*balancer{},
	}
	if p.clock == nil {
		p.clock = clock.RealClock{}
	}
	if p.idleUDP == 0 {
		p.idleUDP = time.Minute
	}
	if p.sockets == nil {
		p.sockets = &net.ListenConfig{}
	}
	p.life, p.end = context.WithCancel(ctx)
	return p
}

// Apply starts and changes the given load balancers, and ends all others. Its
// error says which listeners could not be opened. All other changes are made
// nevertheless, and the next Apply tries these listeners again.
func (p *Plane) Apply(wanted []Balancer) error {
	p.applying.Lock()
	defer p.applying.Unlock()
	if p.life.Err() != nil {
		return nil
	}
	old := p.all()
	for _, b := range old {
		if !slices.ContainsFunc(wanted, func(w Balancer) bool { return w.ID == b.id }) {
			b.close()
			p.remove(b.id)
		}
	}
	// Unwanted fronts are closed first, because a load balancer may need an address
	// that another one still uses.
	for _, w := range wanted {
		if b := old[w.ID]; b != nil {
			b.giveUp(w)
		}
	}
	var problems []error
	for _, w := range wanted {
		if err := p.balancer(w.ID).apply(w); err != nil {
			problems = append(problems, fmt.Errorf("load balancer %s: %w", w.ID, err))
		}
	}
	return errors.Join(problems...)
}

// all returns the load balancers by ID.
func (p *Plane) all() map[string]*balancer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.balancers)
}

func (p *Plane) remove(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.balancers, id)
}

// balancer returns the load balancer with the ID. It creates one if there is
// none.
func (p *Plane) balancer(id string) *balancer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.balancers[id] == nil {
		p.balancers[id] = newBalancer(p, id)
	}
	return p.balancers[id]
}

// Close ends all load balancers and their connections, and waits until all
// goroutines have ended.
func (p *Plane) Close() {
	p.applying.Lock()
	defer p.applying.Unlock()
	p.end()
	for id, b := range p.all() {
		b.close()
		p.remove(id)
	}
	p.running.Wait()
}
