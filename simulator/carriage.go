package simulator

import (
	"context"
	"math"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator/internal/traffic"
)

// carriage brings what load balancers carry in line with what they are.
type carriage struct {
	wanted bool
	checks Checks

	plane atomic.Pointer[traffic.Plane] // nil: no traffic is carried
	// changed wakes whoever waits for the next change by itself.
	changed chan struct{}

	carrying sync.Mutex
	revision int64     // guarded by carrying; of what is carried
	problem  string    // guarded by carrying; why not all is carried
	again    time.Time // guarded by carrying; when that is tried again
}

// nothing is the revision of what is carried before anything is.
const nothing = -1

// problemPause is how long a listener that could not be opened is left alone.
const problemPause = time.Second

func newCarriage(config Config) *carriage {
	return &carriage{wanted: config.Traffic, checks: config.Checks, changed: make(chan struct{}, 1), revision: nothing}
}

// carryTraffic carries traffic, if it is wanted, until the context ends. It
// returns what waits for the end of all that runs.
func (c *Cloud) carryTraffic(ctx context.Context) (wait func()) {
	if !c.carriage.wanted {
		return func() {}
	}
	c.claimKept(ctx)
	plane := traffic.New(ctx, traffic.Config{Clock: c.clock, Checks: c.carriage.checks})
	c.carriage.plane.Store(plane)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.followClock(ctx)
		c.carriage.plane.Store(nil)
		plane.Close()
		c.dropClaims(ctx)
	}()
	return func() { <-ended }
}

// followClock carries what changes by itself, until the context ends.
func (c *Cloud) followClock(ctx context.Context) {
	for {
		pause := time.Duration(math.MaxInt64)
		if next, _ := c.carry(ctx); !next.IsZero() {
			pause = next.Sub(c.clock.Now())
		}
		timer := c.clock.NewTimer(pause)
		select {
		case <-timer.C():
		case <-c.carriage.changed:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// settled carries what a call has changed, before it is answered: whoever has
// the answer to a removal finds the backend without new connections.
func (c *Cloud) settled(ctx context.Context) {
	if _, changed := c.carry(ctx); !changed {
		return
	}
	select {
	case c.carriage.changed <- struct{}{}:
	default: // it has been woken
	}
}

// carry brings the traffic in line. It returns when that has to be done again,
// zero if nobody knows, and whether anything had changed.
func (c *Cloud) carry(ctx context.Context) (next time.Time, changed bool) {
	k := c.carriage
	k.carrying.Lock()
	defer k.carrying.Unlock()
	plane := k.plane.Load()
	if plane == nil {
		return time.Time{}, false
	}
	now := c.clock.Now()
	changed, revision, next := c.revised(ctx, k.revision)
	if changed || !k.again.IsZero() && !k.again.After(now) {
		k.note(ctx, now, plane.Apply(c.wantedTraffic())) //nolint:contextcheck // what is carried outlives the call
		k.revision = revision
	}
	if !k.again.IsZero() && (next.IsZero() || k.again.Before(next)) {
		next = k.again
	}
	return next, changed
}

// note logs a problem once, and when to try again.
func (k *carriage) note(ctx context.Context, now time.Time, err error) {
	if err == nil {
		k.problem, k.again = "", time.Time{}
		return
	}
	if err.Error() != k.problem {
		klog.FromContext(ctx).Error(err, "A load balancer cannot listen and is tried again", "pause", problemPause)
	}
	k.problem, k.again = err.Error(), now.Add(problemPause)
}

// revised reports whether anything has changed since a revision, which one it is
// now, and when something will next change by itself.
func (c *Cloud) revised(ctx context.Context, since int64) (bool, int64, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle(ctx)
	return c.revision != since, c.revision, c.nextMove
}

// wantedTraffic is what is to be carried.
func (c *Cloud) wantedTraffic() []traffic.Balancer {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []traffic.Balancer
	for _, b := range c.loadBalancers.all() {
		if b.State == LoadBalancerActive {
			all = append(all, c.wantedBalancer(b))
		}
	}
	return all
}

// wantedBalancer is what is to be carried for one load balancer. c.mu is held.
func (c *Cloud) wantedBalancer(b *balancer) traffic.Balancer {
	w := traffic.Balancer{
		ID:       b.ID,
		Address:  netip.MustParseAddr(b.Address), // it was checked when it was given
		Affinity: time.Duration(b.Affinity),
		Drain:    c.limits.drain,
		Check:    traffic.Check{Port: uint16(b.HealthCheck.Port), Path: b.HealthCheck.Path},
	}
	if b.Drain != nil {
		w.Drain = time.Duration(*b.Drain)
	}
	for _, l := range b.Listeners {
		w.Listeners = append(w.Listeners, traffic.Listener{
			Protocol: traffic.Protocol(l.Protocol), Port: uint16(l.Port), BackendPort: uint16(l.BackendPort),
		})
	}
	for _, r := range b.SourceRanges {
		w.SourceRanges = append(w.SourceRanges, netip.MustParsePrefix(r)) // it was checked
	}
	for _, id := range b.Backends {
		w.Backends = append(w.Backends, wantedBackend(id, c.instances.row(id)))
	}
	return w
}

func wantedBackend(id string, m *machine) traffic.Backend {
	backend := traffic.Backend{ID: id}
	if m == nil || m.State == Terminated {
		backend.Off = "the instance does not exist"
		return backend
	}
	for _, a := range m.Addresses {
		if ip, err := netip.ParseAddr(a.Address); a.Type == InternalIP && err == nil && ip.Is4() {
			backend.Address = ip
			break
		}
	}
	switch {
	case !backend.Address.IsValid():
		backend.Off = "the instance has no InternalIP of IPv4"
	case m.State != Running:
		backend.Off = "the instance is " + string(m.State)
	}
	return backend
}

// traffic is what a load balancer carries; nil if no traffic is carried.
func (c *Cloud) traffic(id string) *Traffic {
	plane := c.carriage.plane.Load()
	if plane == nil {
		return nil
	}
	report, ok := plane.Report(id)
	if !ok {
		return nil
	}
	t := &Traffic{Listeners: []ListenerTraffic{}, Backends: []BackendTraffic{}}
	for _, l := range report.Listeners {
		t.Listeners = append(t.Listeners, ListenerTraffic{
			Protocol: Protocol(l.Protocol), Port: int(l.Port), Address: l.Address, Problem: l.Problem,
			Connections: l.Connections, Denied: l.Denied, Rejected: l.Rejected,
		})
	}
	for _, b := range report.Backends {
		t.Backends = append(t.Backends, BackendTraffic{
			Instance: b.ID, Health: BackendHealth(b.Health), Why: b.Why,
			Open: b.Open, Connections: b.Connections, Failures: b.Failures, BytesIn: b.BytesIn, BytesOut: b.BytesOut,
		})
	}
	return t
}
