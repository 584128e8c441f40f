package simulator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator/internal/traffic"
)

// DefaultPageSize is how many items a page of a list has at most.
const DefaultPageSize = 100

// Config is how a cloud behaves; the zero value is a cloud without any trouble.
type Config struct {
	// Clock is the real one if nil.
	Clock clock.Clock
	// Seed makes all that is random the same again: the same calls in the same
	// order meet the same faults.
	Seed uint64
	// StateFile keeps the resources across restarts; empty keeps them in memory.
	StateFile string
	// PageSize is the default and the maximum size of a page; 0 means
	// DefaultPageSize.
	PageSize int
	// Transition is how long an instance is pending and stopping.
	Transition time.Duration
	// TerminatedFor is how long a terminated instance is still listed.
	TerminatedFor time.Duration
	// Provisioning is how long a load balancer is pending.
	Provisioning time.Duration
	// MaxLoadBalancers is how many load balancers the account may have, and
	// MaxBackends how many backends each of them; 0 means no limit.
	MaxLoadBalancers int
	MaxBackends      int
	// MaxRoutes is how many routes the table may have; 0 means no limit.
	MaxRoutes int
	// UniqueRoutes allows one route for each destination. Clouds differ in this;
	// without it there may be several.
	UniqueRoutes bool
	// Drain is that of load balancers which leave it to the cloud.
	Drain time.Duration
	// Traffic makes Serve carry traffic: active load balancers listen at their
	// addresses and forward to their backends. Without it no socket is opened.
	Traffic bool
	// Checks is how the health of backends is checked.
	Checks Checks
	// Standing are faults that belong to this cloud, such as its quota: they are
	// not listed and cannot be cleared.
	Standing []Fault
}

// Checks is how the health of backends is checked. What is 0 gets a default.
type Checks = traffic.Checks

// limits are what load balancers and routes are made with.
type limits struct {
	loadBalancers, backends, routes int
	uniqueRoutes                    bool
	pending, drain                  time.Duration
}

// Cloud is a simulated cloud. It is an http.Handler.
type Cloud struct {
	clock    clock.Clock
	started  time.Time
	pageSize int
	pace     pace
	limits   limits
	file     stateFile
	faults   *faults
	meter    *meter
	handler  http.Handler
	carriage *carriage
	watchers *watchers

	mu               sync.Mutex
	instances        *table[machine]  // its rows are guarded by mu
	loadBalancers    *table[balancer] // its rows are guarded by mu
	staticIPs        *table[reserved] // its rows are guarded by mu
	routes           *table[Route]    // its rows are guarded by mu
	lastInstance     int              // guarded by mu
	lastLoadBalancer int              // guarded by mu
	lastStaticIP     int              // guarded by mu
	lastRoute        int              // guarded by mu
	nextMove         time.Time        // guarded by mu; when something next changes by itself
	revision         int64            // guarded by mu; counts what has changed
	claims           claims           // guarded by mu
}

// maxBalancerPast bounds how many changes of load balancers are remembered.
// They are long, since each has all its backends.
const maxBalancerPast = 1_000

// New returns a cloud with what its state file holds.
func New(config Config) (*Cloud, error) {
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.PageSize == 0 {
		config.PageSize = DefaultPageSize
	}
	if err := config.check(); err != nil {
		return nil, err
	}
	c := &Cloud{
		clock:    config.Clock,
		started:  config.Clock.Now(),
		pageSize: config.PageSize,
		pace:     pace{transition: config.Transition, terminated: config.TerminatedFor},
		limits: limits{
			loadBalancers: config.MaxLoadBalancers, backends: config.MaxBackends,
			routes: config.MaxRoutes, uniqueRoutes: config.UniqueRoutes,
			pending: config.Provisioning, drain: config.Drain,
		},
		file:          stateFile{path: config.StateFile},
		faults:        newFaults(config.Seed),
		meter:         newMeter(),
		carriage:      newCarriage(config),
		watchers:      newWatchers(),
		instances:     newTable[machine](),
		loadBalancers: newTable[balancer](),
		staticIPs:     newTable[reserved](),
		routes:        newTable[Route](),
		claims:        claims{},
	}
	c.loadBalancers.longest = maxBalancerPast
	for _, f := range config.Standing {
		if err := c.faults.set(f, standing); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	saved, err := c.file.load()
	if err != nil {
		return nil, err
	}
	if saved != nil {
		if err := c.restore(saved); err != nil {
			return nil, c.file.broken(err)
		}
	}
	c.handler = c.newHandler()
	return c, nil
}

func (config Config) check() error {
	switch {
	case config.PageSize < 0:
		return fmt.Errorf("page size %d must be positive", config.PageSize)
	case config.Transition < 0 || config.TerminatedFor < 0:
		return errors.New("an instance cannot change in the past: durations must not be negative")
	case config.Provisioning < 0 || config.Drain < 0:
		return errors.New("a load balancer cannot change in the past: durations must not be negative")
	case config.MaxLoadBalancers < 0 || config.MaxBackends < 0 || config.MaxRoutes < 0:
		return errors.New("a quota must not be negative; 0 means no limit")
	}
	return config.Checks.Check()
}

// ServeHTTP implements http.Handler.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if why := foreign(r); why != "" {
		write(w, r, reply{}, &APIError{StatusCode: http.StatusForbidden, Code: CodeForbidden, Message: why})
		return
	}
	c.handler.ServeHTTP(w, r)
}

// restore takes what was saved, unless it could not have been saved.
func (c *Cloud) restore(saved *savedState) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastInstance, c.lastLoadBalancer, c.lastStaticIP, c.lastRoute = saved.LastInstance, saved.LastLoadBalancer, saved.LastStaticIP, saved.LastRoute
	for _, restore := range []func() error{
		func() error { return restoreAll("instances", saved.Instances, c.instances, c.restorable) },
		func() error { return restoreAll("staticIPs", saved.StaticIPs, c.staticIPs, c.restorableStaticIP) },
		func() error {
			return restoreAll("loadBalancers", saved.LoadBalancers, c.loadBalancers, c.restorableBalancer)
		},
		func() error { return restoreAll("routes", saved.Routes, c.routes, c.restorableRoute) },
	} {
		if err := restore(); err != nil {
			return err
		}
	}
	c.expectMoves()
	return nil
}

// settle lets everything become what it has become by now, and returns now.
// Nothing is written: the state file says when it changes. c.mu is held.
func (c *Cloud) settle(ctx context.Context) time.Time {
	now := c.clock.Now()
	if c.nextMove.IsZero() || now.Before(c.nextMove) {
		return now
	}
	c.settleInstances(ctx, now)
	c.settleLoadBalancers(ctx, now)
	c.revision++
	c.expectMoves()
	return now
}

// expectMoves notes when something will next change by itself. c.mu is held.
func (c *Cloud) expectMoves() {
	c.nextMove = time.Time{}
	expect := func(at time.Time) {
		if !at.IsZero() && (c.nextMove.IsZero() || at.Before(c.nextMove)) {
			c.nextMove = at
		}
	}
	for _, m := range c.instances.rows {
		expect(m.moves())
	}
	for _, b := range c.loadBalancers.rows {
		expect(b.moves())
	}
}

// commit makes a replacement durable before anybody sees it; if that cannot be
// done, nothing has changed. c.mu is held.
func commit[T any](c *Cloud, now time.Time, t *table[T], id string, row *T) error {
	return keep(c, t, []change[T]{t.exchange(now, id, row)})
}

// keep makes durable what was exchanged, before anybody sees it; if that cannot
// be done, it is undone. c.mu is held.
func keep[T any](c *Cloud, t *table[T], made []change[T]) error {
	if len(made) == 0 {
		return nil
	}
	if err := c.file.save(c.saved); err != nil {
		for _, m := range slices.Backward(made) {
			t.replace(m.id, m.before)
		}
		return err
	}
	for _, m := range made {
		t.remember(m)
	}
	c.revision++
	return nil
}

func (c *Cloud) saved() savedState {
	return savedState{
		Version:      stateVersion,
		LastInstance: c.lastInstance, Instances: c.instances.all(),
		LastLoadBalancer: c.lastLoadBalancer, LoadBalancers: c.loadBalancers.all(),
		LastStaticIP: c.lastStaticIP, StaticIPs: c.staticIPs.all(),
		LastRoute: c.lastRoute, Routes: c.routes.all(),
	}
}
