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

// Config configures a Store.
type Config struct {
	Clock  clock.Clock
	Delays Delays
	Limits Limits
	// Save makes the state durable. Its argument is a function that returns the state to
	// save. If Save is nil, the state is only in memory.
	Save func(func() Saved) error
	// IsForeign reports whether an address belongs to another cloud. If IsForeign is nil,
	// no address belongs to another cloud.
	IsForeign func(context.Context, netip.Addr) bool
}

// Delays are the durations of the temporary states of resources.
type Delays struct {
	Transition   time.Duration // how long an instance is pending or stopping
	Terminated   time.Duration // how long a terminated instance is listed
	Provisioning time.Duration // how long a load balancer is pending
}

// Limits are the maximum numbers of resources; 0 means no limit.
type Limits struct {
	LoadBalancers int
	Backends      int // of each load balancer
	Routes        int
	// UniqueRoutes allows only one route for each destination.
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
	volumes          *table[disk]       // its rows are guarded by mu
	lastInstance     int                // guarded by mu
	lastLoadBalancer int                // guarded by mu
	lastStaticIP     int                // guarded by mu
	lastRoute        int                // guarded by mu
	lastVolume       int                // guarded by mu
	nextMove         time.Time          // guarded by mu; when the state will next change by itself
	revision         int64              // guarded by mu; grows with each change
	changed          chan struct{}      // guarded by mu; closed at the next change
	began            time.Time
}

// maxBalancerPast is the maximum number of remembered changes of load balancers.
// It is lower than maxPast, because each change contains all backends.
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
		changed:       make(chan struct{}),
		began:         config.Clock.Now(),
		volumes:       newTable(disk.identity),
	}
	s.loadBalancers.longest = maxBalancerPast
	return s
}

// Revision returns the revision of the state. While the revision stays the same, nothing
// has changed. Revision also returns the time of the next change that happens without a
// call; zero if there is none.
func (s *Store) Revision(ctx context.Context) (revision int64, nextMove time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(ctx)
	return s.revision, s.nextMove
}

// settle applies the changes that are due, and returns the present time. It does not save
// them, because they are made again after a restart: the saved state has their times.
// s.mu is held.
func (s *Store) settle(ctx context.Context) time.Time {
	now := s.clock.Now()
	if s.nextMove.IsZero() || now.Before(s.nextMove) {
		return now
	}
	s.settleInstances(ctx, now)
	s.settleLoadBalancers(ctx, now)
	s.revise()
	s.expectMoves()
	return now
}

// expectMoves records when the state will next change by itself. s.mu is held.
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

// commit replaces a row and saves the change before any caller can see it. If the
// change cannot be saved, commit undoes it. s.mu is held.
func commit[T any](s *Store, now time.Time, t *table[T], id string, row *T) error {
	return keep(s, t, []change[T]{t.exchange(now, id, row)})
}

// keep saves changes of rows before any caller can see them. If they cannot be saved,
// keep undoes them. s.mu is held.
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
	s.revise()
	return nil
}

// revise counts a change and wakes the watches. s.mu is held.
func (s *Store) revise() {
	s.revision++
	close(s.changed)
	s.changed = make(chan struct{})
}

// conflict returns the error for a request that conflicts with the present resources,
// for example because a name or an address is taken.
func conflict(code, format string, args ...any) error {
	return &wire.APIError{StatusCode: http.StatusConflict, Code: code, Message: fmt.Sprintf(format, args...)}
}

// missing returns the error about a resource that does not exist.
func missing(what, id string) error {
	return &wire.APIError{StatusCode: http.StatusNotFound, Code: wire.CodeNotFound, Message: fmt.Sprintf("%s %s does not exist", what, id)}
}
