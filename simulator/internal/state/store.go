// Package state holds the resources of the simulated cloud: its instances, load
// balancers, static IPs, routes and volumes. It also holds their recent past,
// and the rules by which they change.
//
// One mutex guards all resources. Each resource is a row of a table. A row is never
// changed, only replaced, so it can still be used after the mutex is unlocked. A change
// is saved before any caller sees it. If it cannot be saved, it is undone.
//
// It imports wire and input. It serves no requests and opens no sockets. Config has a
// function that recognises the addresses of other clouds. Packages faults, forward, api
// and simulator may import it.
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
	// File is the path of the file that keeps the state across restarts. If it is empty,
	// the state is only in memory.
	File string
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
	Instances     *Resources[machine, wire.Instance]
	LoadBalancers *Resources[balancer, wire.LoadBalancer]
	StaticIPs     *Resources[reserved, wire.StaticIP]
	Routes        *Resources[wire.Route, wire.Route]
	Volumes       *Resources[disk, wire.Volume]

	config Config
	clock  clock.Clock
	began  time.Time

	mu       sync.Mutex
	nextMove time.Time     // guarded by mu; when the state will next change by itself
	revision int64         // guarded by mu; grows with each change
	changed  chan struct{} // guarded by mu; closed at the next change
}

// maxBalancerPast is the maximum number of remembered changes of load balancers.
// It is lower than maxPast, because each change contains all backends.
const maxBalancerPast = 1_000

// New returns a store with the resources of the state file. It returns an error if the
// file is invalid.
func New(config Config) (*Store, error) {
	if config.IsForeign == nil {
		config.IsForeign = func(context.Context, netip.Addr) bool { return false }
	}
	s := &Store{config: config, clock: config.Clock, began: config.Clock.Now(), changed: make(chan struct{})}
	s.Instances = &Resources[machine, wire.Instance]{
		store: s, what: "instance", ids: instanceIDs, table: newTable(machine.identity),
		show: func(m *machine) wire.Instance { return m.Instance },
	}
	s.LoadBalancers = &Resources[balancer, wire.LoadBalancer]{
		store: s, what: "load balancer", ids: loadBalancerIDs, table: newTable(balancer.identity), show: (*balancer).shown,
	}
	s.LoadBalancers.longest = maxBalancerPast
	s.StaticIPs = &Resources[reserved, wire.StaticIP]{
		store: s, what: "static IP", ids: staticIPIDs, table: newTable(reserved.identity), show: s.shownStaticIP,
	}
	s.Routes = &Resources[wire.Route, wire.Route]{
		store: s, what: "route", ids: routeIDs, table: newTable(routeIdentity), show: func(r *wire.Route) wire.Route { return *r },
	}
	s.Volumes = &Resources[disk, wire.Volume]{
		store: s, what: "volume", ids: volumeIDs, table: newTable(disk.identity), show: func(d *disk) wire.Volume { return d.Volume },
	}
	return s, s.load()
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
	for _, m := range s.Instances.rows {
		expect(m.NextAt)
	}
	for _, b := range s.LoadBalancers.rows {
		expect(b.ActiveAt)
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
	if err := s.save(); err != nil {
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
