package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
)

// testFaultAtEachCall returns a test that creates many Services, one after the other. The
// cloud has a fault at the first call for the first Service, at the second call for the
// second Service, and so on. Each Service is served all the same, and only one load
// balancer is ever made for it. Nothing is left after its deletion (S2).
func testFaultAtEachCall(kind simulator.FaultKind) func(*testing.T, *bed.Bed) {
	return func(t *testing.T, b *bed.Bed) {
		s := newClass(t, b, "--provisioning=500ms")
		d := s.Runs(t, daemon.Setup{})
		lives(t, s, nil)
		report, err := s.Cloud.Calls(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		calls := int(report.Count())
		if calls < 6 {
			t.Fatalf("a life makes %d calls, want a list and a change for creation, edit and deletion at least", calls)
		}
		// Calls that hang need a short deadline. The calls above were counted without it:
		// a busy machine could have missed it, and the daemon would then have repeated a
		// call.
		if kind == simulator.FaultHang {
			d.Kill()
			s.Runs(t, daemon.Setup{Flags: []string{"--cloud-mutation-timeout=5s"}})
		}
		for n := range calls {
			t.Run(fmt.Sprintf("%d-%s", n+1, report.Last[n].Call), func(t *testing.T) {
				lives(t, s, &simulator.Fault{Name: "nth", Kind: kind, Skip: n, Count: 1})
			})
		}
	}
}

// lives takes one Service from its creation to its deletion. If fault is not nil, the
// cloud has this fault during that time.
func lives(t *testing.T, s lbservice.Services, fault *simulator.Fault) {
	t.Helper()
	if err := s.Cloud.ResetCalls(t.Context()); err != nil {
		t.Fatal(err)
	}
	if fault != nil {
		s.Cloud.Fail(t, *fault)
	}
	name := s.Balanced(t, "life")
	s.AwaitServingWithin(t, lbservice.RetriesWithin, name, s.Hosts...)
	s.Edit(t, name, `{"spec":{"ports":[{"port":81}]}}`)
	expect.Within(t, lbservice.RetriesWithin, func(ctx context.Context) error { return hasPort(ctx, s, name, 81) })
	s.AwaitServingWithin(t, lbservice.RetriesWithin, name, s.Hosts...)
	s.Delete(t, name)
	s.AwaitGone(t, name)
	if fault != nil {
		awaitHit(t, s, fault.Name)
	}
	s.CreatedOnce(t)
}

// hasPort returns an error unless the Service has one load balancer, and that load
// balancer listens at this port.
func hasPort(ctx context.Context, s lbservice.Services, name string, port int) error {
	l, err := s.Balancer(ctx, name)
	if err != nil {
		return err
	}
	return expect.Equal("port", port, l.Listeners[0].Port)
}

// The API server goes away in the middle of a Service's life, while a write of the
// daemon is on its way.
func TestAPIServerRestartsInTheLifeOfAService(t *testing.T) {
	// After its restart, the API server may refuse a request. bed.Check accepts this only
	// if a daemon has used the same right successfully before.
	t.Run("Undisturbed", func(t *testing.T) {
		s := lbservice.New(t, onShared(t), 1)
		s.Runs(t, daemon.Setup{})
		passes(t, s)
	})
	for n, place := range []string{"Finalizer", "Address", "Release"} {
		t.Run(place, func(t *testing.T) {
			s := lbservice.New(t, onShared(t), 1)
			api := s.BeforeAPIServer(t)
			d := s.Runs(t, daemon.Setup{API: api})
			var name string
			var trap *proxy.Trap
			if place == "Release" {
				name = s.Balanced(t, "restart")
				s.AwaitServing(t, name, s.Hosts...)
				trap = api.Trap(ofServices, 1, proxy.Before)
				s.Delete(t, name)
			} else {
				trap = api.Trap(ofServices, n+1, proxy.Before)
				name = s.Balanced(t, "restart")
			}
			bed.AwaitTrap(t, trap)
			s.RestartAPIServer(t, trap)
			if place != "Release" {
				s.AwaitServingWithin(t, 2*time.Minute, name, s.Hosts...)
				s.Delete(t, name)
			}
			s.AwaitGone(t, name)
			s.CreatedOnce(t)
			if d.Ended() {
				t.Errorf("the daemon has ended with code %d", d.Code())
			}
		})
	}
}

// While the daemon runs, a Service becomes internal, and later wants a load
// balancer again.
func TestServiceChangesItsType(t *testing.T) {
	s := lbservice.New(t, onShared(t), 1)
	s.Runs(t, daemon.Setup{})
	name := s.Balanced(t, "type")
	first := s.AwaitServing(t, name, s.Hosts...)
	s.Edit(t, name, `{"spec":{"type":"ClusterIP"}}`)
	s.AwaitInternal(t, name)
	s.AwaitTold(t, name, expect.Soon, "Normal DeletedLoadBalancer")
	s.Edit(t, name, `{"spec":{"type":"LoadBalancer"}}`)
	if second := s.AwaitServing(t, name, s.Hosts...); second.ID == first.ID {
		t.Errorf("load balancer %s is there again", first.ID)
	}
}

// If there are no nodes behind a load balancer, the Service shows this. It is served once
// there is a node.
func TestServiceWithoutNodes(t *testing.T) {
	const unavailable = "Warning UnAvailableLoadBalancer: There are no available nodes for LoadBalancer"
	s := lbservice.New(t, onShared(t), 0)
	s.Runs(t, daemon.Setup{})
	name := s.Balanced(t, "lonely")
	empty := func(service *corev1.Service) error {
		l, err := s.Balancer(t.Context(), name)
		return errors.Join(err, expect.Equal("backends", []string{}, l.Backends),
			lbservice.Showing(lbservice.ConditionServing, metav1.ConditionFalse, "NoNodes", "no available nodes")(service),
			lbservice.Showing(lbservice.ConditionProvisioning, metav1.ConditionFalse, "Provisioned")(service))
	}
	s.AwaitService(t, name, expect.Soon, empty)
	s.AwaitTold(t, name, expect.Soon, unavailable)
	i, node := s.Pair(t, s.Cloud, simulator.Instance{Name: s.Name("first")})
	s.AwaitServing(t, name, i)
	s.AwaitTold(t, name, expect.Soon, "Normal UpdatedLoadBalancer: Updated load balancer with new hosts")

	s.Patch(t, node.Name, `{"metadata":{"labels":{"`+corev1.LabelNodeExcludeBalancers+`":""}}}`)
	s.AwaitService(t, name, expect.Soon, empty)
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		told, err := s.Told(ctx, name)
		return errors.Join(err, expect.Equal("times that it was told", 2, expect.CountPrefix(told, unavailable)))
	})
}
