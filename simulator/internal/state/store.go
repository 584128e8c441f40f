package state

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// Config is how resources change, and how many there may be.
type Config struct {
	Clock  clock.Clock
	Delays Delays
	Limits Limits
	// Save makes the state durable; nil keeps it in memory. The function that it
	// gets reads the state, and does so only when it is called.
	Save func(func() Saved) error
	// IsForeign reports whether an address belongs to another cloud; nil means
	// that none does.
	IsForeign func(context.Context, netip.Addr) bool
}

// Delays are how long the temporary states of a resource last.
type Delays struct {
	Transition   time.Duration // an instance is pending and stopping
	Terminated   time.Duration // a terminated instance is listed
	Provisioning time.Duration // a load balancer is pending
}

// Limits are how many resources there may be; 0 means no limit.
type Limits struct {
	LoadBalancers int
	Backends      int // of each load balancer
	Routes        int
	// UniqueRoutes allows one route for each destination.
	UniqueRoutes bool
}

// Store holds all resources.
type Store struct {
	config Config
	clock  clock.Clock

	mu               sync.Mutex
	instances        *table[machine]    // its rows are guarded by mu
	loadBalancers    *table[balancer]   // its rows are guarded by mu
	staticIPs        *table[reserved]   // its rows are guarded by mu
	routes           *table[wire.Route] // its rows are guarded by mu
	lastInstance     int                // guarded by mu
	lastLoadBalancer int                // guarded by mu
	lastStaticIP     int                // guarded by mu
	lastRoute        int                // guarded by mu
	nextMove         time.Time          // guarded by mu; when the next change by itself is due
	revision         int64              // guarded by mu; grows with each change
}

// maxBalancerPast bounds how many changes of load balancers are remembered.
// They are long, because each has all its backends.
const maxBalancerPast = 1_000

// New returns a store without resources.
func New(config Config) *Store {
	if config.Save == nil {
		config.Save = func(func() Saved) error { return nil }
	}
	if config.IsForeign == nil {
		config.IsForeign = func(context.Context, netip.Addr) bool { return false }
	}
	s := &Store{
		config:        config,
		clock:         config.Clock,
		instances:     newTable(machine.identity),
		loadBalancers: newTable(balancer.identity),
		staticIPs:     newTable(reserved.identity),
		routes:        newTable(routeIdentity),
	}
	s.loadBalancers.longest = maxBalancerPast
	return s
}

// Revision reports which revision the state has, and when it will next change
// by itself; zero if it will not. A revision that is equal to an earlier one
// means that nothing has changed.
func (s *Store) Revision(ctx context.Context) (revision int64, nextMove time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(ctx)
	return s.revision, s.nextMove
}

// settle applies the changes that time has brought about, and returns the
// present time. It saves nothing, because the saved state contains the times of
// its changes. s.mu is held.
func (s *Store) settle(ctx context.Context) time.Time {
	now := s.clock.Now()
	if s.nextMove.IsZero() || now.Before(s.nextMove) {
		return now
	}
	s.settleInstances(ctx, now)
	s.settleLoadBalancers(ctx, now)
	s.revision++
	s.expectMoves()
	return now
}

// expectMoves records when the next change by itself is due. s.mu is held.
func (s *Store) expectMoves() {
	s.nextMove = time.Time{}
	expect := func(at time.Time) {
		if !at.IsZero() && (s.nextMove.IsZero() || at.Before(s.nextMove)) {
			s.nextMove = at
		}
	}
	for _, m := range s.instances.rows {
		expect(m.moves())
	}
	for _, b := range s.loadBalancers.rows {
		expect(b.moves())
	}
}

// commit makes a replacement durable before any caller can see it. If that
// fails, nothing has changed. s.mu is held.
func commit[T any](s *Store, now time.Time, t *table[T], id string, row *T) error {
	return keep(s, t, []change[T]{t.exchange(now, id, row)})
}

// keep makes exchanges durable before any caller can see them. If that fails,
// it undoes them. s.mu is held.
func keep[T any](s *Store, t *table[T], made []change[T]) error {
	if len(made) == 0 {
		return nil
	}
	if err := s.config.Save(s.saved); err != nil {
		for _, m := range slices.Backward(made) {
			t.replace(m.id, m.before)
		}
		return err
	}
	for _, m := range made {
		t.remember(m)
	}
	s.revision++
	return nil
}

// conflict returns the error about a resource whose state does not allow the
// request.
func conflict(code, format string, args ...any) error {
	return &wire.APIError{StatusCode: http.StatusConflict, Code: code, Message: fmt.Sprintf(format, args...)}
}

// missing returns the error about a resource that does not exist.
func missing(what, id string) error {
	return &wire.APIError{StatusCode: http.StatusNotFound, Code: wire.CodeNotFound, Message: fmt.Sprintf("%s %s does not exist", what, id)}
}
