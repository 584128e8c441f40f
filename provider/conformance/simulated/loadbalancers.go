package simulated

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// LoadBalancers implements conformance.Viewer.
func (w *World) LoadBalancers(ctx context.Context, clusterName string) ([]conformance.LoadBalancer, error) {
	all, err := w.operator.LoadBalancers(ctx)
	if err != nil {
		return nil, err
	}
	var shown []conformance.LoadBalancer
	for _, l := range all {
		if hasValue(l.Tags, clusterName) {
			shown = append(shown, show(l))
		}
	}
	return shown, nil
}

func show(l simulator.LoadBalancer) conformance.LoadBalancer {
	shown := conformance.LoadBalancer{
		ID: l.ID, Name: l.Name, Backends: l.Backends,
		AffinitySeconds: int32(time.Duration(l.Affinity).Seconds()),
		HealthCheckPort: int32(l.HealthCheck.Port), //nolint:gosec // the cloud allows only valid ports
	}
	for _, listener := range l.Listeners {
		shown.Listeners = append(shown.Listeners, conformance.Listener{
			Protocol: corev1.Protocol(listener.Protocol), Port: int32(listener.Port), NodePort: int32(listener.BackendPort), //nolint:gosec // the cloud allows only valid ports
		})
	}
	if !slices.Equal(l.SourceRanges, []string{simulator.Everyone}) {
		shown.SourceRanges = l.SourceRanges
	}
	if l.Drain != nil {
		shown.Other = map[string]string{"drain": l.Drain.String()}
	}
	return shown
}

// HoldLoadBalancers implements conformance.Holder. It stops the clock of the cloud.
func (w *World) HoldLoadBalancers(context.Context) (release func(), err error) {
	w.clock.hold()
	return sync.OnceFunc(w.clock.release), nil
}

// heldClock is a clock that can be stopped.
type heldClock struct {
	clock.Clock

	mu   sync.Mutex
	held time.Time // guarded by mu; zero if the clock is not stopped
}

func (c *heldClock) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = c.Clock.Now()
}

func (c *heldClock) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = time.Time{}
}

// Now implements clock.PassiveClock.
func (c *heldClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.held.IsZero() {
		return c.held
	}
	return c.Clock.Now()
}

// Since implements clock.PassiveClock.
func (c *heldClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// ReserveAddress implements conformance.Reserver.
func (w *World) ReserveAddress(ctx context.Context, name string) (conformance.Address, error) {
	made, err := w.operator.CreateStaticIP(ctx, simulator.StaticIP{Name: name})
	return conformance.Address{ID: made.ID, IP: made.Address}, err
}

// ReleaseAddress implements conformance.Reserver.
func (w *World) ReleaseAddress(ctx context.Context, a conformance.Address) error {
	return unlessGone(w.operator.ReleaseStaticIP(ctx, a.ID))
}
