// Package forward makes load balancers carry traffic: when the state changes, it
// updates the listeners, which package traffic opens.
//
// It imports wire, state and traffic. Packages api and simulator may import it.
package forward

import (
	"context"
	"math"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/internal/traffic"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// Config configures a Forwarder.
type Config struct {
	Clock  clock.Clock
	Store  *state.Store
	Claims *Claims
	// Enabled makes Start open listeners. If it is false, Start does nothing.
	Enabled bool
	Checks  traffic.Checks
	// Drain is the drain time of load balancers that do not set their own.
	Drain time.Duration
}

// Forwarder updates the traffic of load balancers when the state changes.
type Forwarder struct {
	config Config

	plane atomic.Pointer[traffic.Plane] // nil: no traffic is carried
	// changed wakes followClock, which then computes the time of the next update anew.
	changed chan struct{}

	carrying sync.Mutex
	revision int64     // guarded by carrying; the revision of the state at the last update of the traffic
	problem  string    // guarded by carrying; why some traffic is not carried
	again    time.Time // guarded by carrying; when to retry after a problem
}

// noRevision is the revision before the first update of the traffic.
const noRevision = -1

// problemPause is the time between two attempts to open a listener.
const problemPause = time.Second

// New returns a forwarder that does not run yet.
func New(config Config) *Forwarder {
	return &Forwarder{config: config, changed: make(chan struct{}, 1), revision: noRevision}
}

// Enabled reports whether load balancers carry traffic while the cloud is
// served.
func (f *Forwarder) Enabled() bool { return f.config.Enabled }

// Traffic returns the traffic of a load balancer; nil if no traffic is carried.
func (f *Forwarder) Traffic(id string) *wire.Traffic {
	plane := f.plane.Load()
	if plane == nil {
		return nil
	}
	return plane.Report(id)
}

// IsRunning reports whether traffic is carried now.
func (f *Forwarder) IsRunning() bool { return f.plane.Load() != nil }

// Start carries traffic until the context ends. It returns a function that
// waits until everything that Start began has ended.
func (f *Forwarder) Start(ctx context.Context) (wait func()) {
	if !f.config.Enabled {
		return func() {}
	}
	f.config.Claims.start(ctx, f.config.Store.BalancerAddresses())
	plane := traffic.New(ctx, traffic.Config{Clock: f.config.Clock, Checks: f.config.Checks})
	f.plane.Store(plane)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.followClock(ctx)
		f.plane.Store(nil)
		plane.Close()
		f.config.Claims.stop(ctx)
	}()
	return func() { <-ended }
}

// followClock updates the traffic when a resource changes by itself, such as
// when a load balancer becomes active. It returns when the context ends.
func (f *Forwarder) followClock(ctx context.Context) {
	for {
		pause := time.Duration(math.MaxInt64)
		if next, _ := f.carry(ctx); !next.IsZero() {
			pause = next.Sub(f.config.Clock.Now())
		}
		timer := f.config.Clock.NewTimer(pause)
		select {
		case <-timer.C():
		case <-f.changed:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// Apply updates the traffic after a call has changed the state. It must be
// called before the call is answered, so that a removed backend gets no new
// connection after the answer.
func (f *Forwarder) Apply(ctx context.Context) {
	if _, changed := f.carry(ctx); !changed {
		return
	}
	select {
	case f.changed <- struct{}{}:
	default: // a wake is already pending
	}
}

// carry makes the traffic agree with the present state. It returns the time of the next
// update, or the zero time if none is due. It also reports whether the state has
// changed since the last update.
func (f *Forwarder) carry(ctx context.Context) (next time.Time, changed bool) {
	f.carrying.Lock()
	defer f.carrying.Unlock()
	plane := f.plane.Load()
	if plane == nil {
		return time.Time{}, false
	}
	now := f.config.Clock.Now()
	revision, next := f.config.Store.Revision(ctx)
	changed = revision != f.revision
	if changed || !f.again.IsZero() && !f.again.After(now) {
		f.note(ctx, now, plane.Apply(f.wanted())) //nolint:contextcheck // the connections outlive the call
		f.revision = revision
	}
	if !f.again.IsZero() && (next.IsZero() || f.again.Before(next)) {
		next = f.again
	}
	return next, changed
}

// note logs a new problem and sets the time of the next attempt. f.carrying is
// held.
func (f *Forwarder) note(ctx context.Context, now time.Time, err error) {
	if err == nil {
		f.problem, f.again = "", time.Time{}
		return
	}
	if err.Error() != f.problem {
		klog.FromContext(ctx).Error(err, "Load balancer cannot listen, will retry", "pause", problemPause)
	}
	f.problem, f.again = err.Error(), now.Add(problemPause)
}

// wanted returns the load balancers that have to carry traffic.
func (f *Forwarder) wanted() []traffic.Balancer {
	var all []traffic.Balancer
	for _, b := range f.config.Store.ActiveLoadBalancers() {
		all = append(all, wantedBalancer(b, f.config.Drain))
	}
	return all
}

// wantedBalancer returns the traffic to carry for one load balancer.
func wantedBalancer(b state.ActiveLoadBalancer, drain time.Duration) traffic.Balancer {
	w := traffic.Balancer{
		ID:       b.ID,
		Address:  netip.MustParseAddr(b.Address), // the state has checked it already
		Affinity: time.Duration(b.Affinity),
		Drain:    drain,
		Check:    traffic.Check{Port: uint16(b.HealthCheck.Port), Path: b.HealthCheck.Path}, //nolint:gosec // the state has checked the port
	}
	if b.Drain != nil {
		w.Drain = time.Duration(*b.Drain)
	}
	for _, l := range b.Listeners {
		w.Listeners = append(w.Listeners, traffic.Listener{
			Protocol: l.Protocol, Port: uint16(l.Port), BackendPort: uint16(l.BackendPort), //nolint:gosec // the state has checked the ports
		})
	}
	for _, r := range b.SourceRanges {
		w.SourceRanges = append(w.SourceRanges, netip.MustParsePrefix(r)) // the state has checked it already
	}
	for n, id := range b.Backends {
		w.Backends = append(w.Backends, wantedBackend(id, b.Instances[n]))
	}
	return w
}

// wantedBackend returns the backend for an instance. The pointer is nil if the
// instance does not exist.
func wantedBackend(id string, i *wire.Instance) traffic.Backend {
	backend := traffic.Backend{ID: id}
	if i == nil {
		backend.Off = "the instance does not exist"
		return backend
	}
	for _, a := range i.Addresses {
		if ip, err := netip.ParseAddr(a.Address); a.Type == wire.InternalIP && err == nil && ip.Is4() {
			backend.Address = ip
			break
		}
	}
	switch {
	case !backend.Address.IsValid():
		backend.Off = "the instance has no InternalIP of IPv4"
	case i.State != wire.Running:
		backend.Off = "the instance is " + string(i.State)
	}
	return backend
}
