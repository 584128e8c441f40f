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

// Config is how a plane works; the zero value works.
type Config struct {
	// Clock is the real one if nil. Deadlines of sockets follow the real one.
	Clock  clock.Clock
	Checks Checks
	// IdleUDP ends a UDP connection after a pause; default one minute.
	IdleUDP time.Duration
	// Sockets opens what is listened at; nil means those of the machine.
	Sockets Sockets
}

// Sockets opens sockets. *net.ListenConfig does.
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

	// life is the context of all that runs until Close, and of no call.
	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	applying sync.Mutex // held by Apply and Close: one at a time

	mu        sync.Mutex
	balancers map[string]*balancer // guarded by mu; written with applying held
}

// New returns a plane that carries nothing yet. Close ends it, and so does the
// end of the context, without waiting.
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

// Apply makes the given load balancers the only ones; all others end. The error
// says which listeners could not be opened. Everything else is done, and the
// next Apply tries these listeners again.
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
	// First close, because one load balancer may need an address that another one
	// gives up.
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

// balancer returns the load balancer with the ID, and makes one if there is
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
