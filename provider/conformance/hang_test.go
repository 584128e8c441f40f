package conformance

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// holding is both a provider of load balancers and a world with holds and faults.
type holding struct {
	stub

	mu     sync.Mutex
	held   bool     // guarded by mu
	events []string // guarded by mu
}

func (h *holding) note(event string, held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events, h.held = append(h.events, event), held
}

func (h *holding) happened() (events []string, held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events), h.held
}

func (h *holding) HoldLoadBalancers(context.Context) (func(), error) {
	h.note("hold", true)
	return func() { h.note("release", false) }, nil
}

func (h *holding) SetFault(context.Context, Fault) (func(), error) {
	h.note("set", true)
	return func() { h.note("clear", false) }, nil
}

func (h *holding) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return deletions{h: h}, true }

// deletions is a LoadBalancer that records each deletion. It has no load balancer.
type deletions struct {
	cloudprovider.LoadBalancer

	h *holding
}

func (deletions) GetLoadBalancer(context.Context, string, *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	return nil, false, nil
}

func (d deletions) EnsureLoadBalancerDeleted(context.Context, string, *corev1.Service) error {
	_, held := d.h.happened()
	d.h.note("delete", held)
	return nil
}

func (h *holding) target() Target {
	return Target{
		Name: "acme", Shared: true, ClusterName: "c",
		World: func(context.Context) (any, error) { return h, nil },
		New:   func(context.Context, any) (cloudprovider.Interface, error) { return h, nil },
	}
}

// hangs runs the test in simulated time. A check of the test can hang until over is closed,
// which happens when the test has ended. synctest requires that the check then returns.
func hangs(t *testing.T, test func(t *testing.T, over <-chan struct{})) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		defer time.Sleep(time.Hour)
		defer close(over)
		test(t, over)
	})
}

// If a check hangs while a fault is set, the fault does not hit the next check.
func TestFaultOfACheckThatHangs(t *testing.T) {
	hangs(t, func(t *testing.T, over <-chan struct{}) {
		cloud := &holding{}
		s, err := newSuite(cloud.target(), Options{Timeout: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		result, err := s.try(t.Context(), Check{ID: "instances/x", run: func(t *trial) {
			t.under(Fault{Kind: FaultHang}, func() { <-over })
		}})
		events, set := cloud.happened()
		if err != nil || result.Outcome != Failed || set || !slices.Equal(events, []string{"set", "clear"}) {
			t.Errorf("got %s: %s, error %v, events %q", result.Outcome, result.Why, err, events)
		}
	})
}

// A check hangs while load balancers are held. The hold ends before the load balancer of
// the check is deleted, because some clouds do not delete a load balancer that is not
// ready.
func TestHoldOfACheckThatHangs(t *testing.T) {
	hangs(t, func(t *testing.T, over <-chan struct{}) {
		cloud := &holding{}
		s, err := newSuite(cloud.target(), Options{Timeout: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		result, err := s.try(t.Context(), Check{ID: "loadbalancers/x", Writes: true, run: balanced(func(b *balancing) {
			defer b.hold(b.newService("a"))()
			<-over
		})})
		if err != nil || result.Outcome != Failed {
			t.Errorf("got %s: %s, error %v", result.Outcome, result.Why, err)
		}
		if events, _ := cloud.happened(); !slices.Equal(events, []string{"hold", "release", "delete"}) {
			t.Errorf("got %q", events)
		}
	})
}

// late is a world that begins a hold only after the suite has given up the check.
type late struct {
	*holding

	over chan struct{}
}

func (l late) HoldLoadBalancers(ctx context.Context) (func(), error) {
	<-l.over
	return l.holding.HoldLoadBalancers(ctx)
}

func TestHoldThatBeginsAfterItsCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cloud := late{&holding{}, make(chan struct{})}
		target := cloud.target()
		target.World = func(context.Context) (any, error) { return cloud, nil }
		s, err := newSuite(target, Options{Timeout: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		if _, err := s.try(t.Context(), Check{ID: "loadbalancers/x", Writes: true, run: balanced(func(b *balancing) {
			defer close(ended)
			b.hold(b.newService("a"))
		})}); err != nil {
			t.Fatal(err)
		}
		close(cloud.over)
		<-ended
		if events, held := cloud.happened(); held || !slices.Equal(events, []string{"hold", "release"}) {
			t.Errorf("got %q, held %v", events, held)
		}
		time.Sleep(time.Hour) // synctest requires that the check has returned.
	})
}
