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

// A check hangs while a fault is set or while load balancers are held, and does not hit the
// next check. The hold ends before the load balancer of the check is deleted, because some
// clouds do not delete a load balancer that is not ready.
func TestCheckThatHangs(t *testing.T) {
	for name, row := range map[string]struct {
		run  func(over <-chan struct{}) func(*trial)
		want []string
	}{
		"WithAFault": {
			run: func(over <-chan struct{}) func(*trial) {
				return func(t *trial) { t.under(faults(FaultHang), func(Fault) { <-over }) }
			},
			want: []string{"set", "clear"},
		},
		"WithAHold": {
			run: func(over <-chan struct{}) func(*trial) {
				return balanced(func(b *balancing) {
					defer b.hold(b.newService("a"))()
					<-over
				})
			},
			want: []string{"hold", "release", "delete"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over := make(chan struct{})
				defer time.Sleep(time.Hour) // synctest requires that the check then returns
				defer close(over)
				cloud := &holding{}
				result, err := try(t, cloud.target(), Options{Timeout: 20 * time.Millisecond}, Check{ID: "loadbalancers/x", run: row.run(over)})
				if err != nil || result.Outcome != Failed {
					t.Errorf("got %s: %s, error %v", result.Outcome, result.Why, err)
				}
				if events, _ := cloud.happened(); !slices.Equal(events, row.want) {
					t.Errorf("got %q, want %q", events, row.want)
				}
			})
		})
	}
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
		ended := make(chan struct{})
		if _, err := try(t, target, Options{Timeout: 20 * time.Millisecond}, Check{ID: "loadbalancers/x", run: balanced(func(b *balancing) {
			defer close(ended)
			b.hold(b.newService("a"))
		})}); err != nil {
			t.Fatal(err)
		}
		close(cloud.over)
		<-ended
		if events, held := cloud.happened(); held || !slices.Equal(events, []string{"delete", "hold", "release"}) {
			t.Errorf("got %q, held %v", events, held)
		}
		time.Sleep(time.Hour) // synctest requires that the check has returned.
	})
}
