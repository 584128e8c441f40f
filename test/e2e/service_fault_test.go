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
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
)

// testFaultAtEachCall has a fault of the cloud at the n-th call of a Service's
// life, for every n: it is served all the same, by the only load balancer that
// was ever made for it, and nothing is left when it goes (S2).
func testFaultAtEachCall(kind simulator.FaultKind) func(*testing.T, *bed.Bed) {
	return func(t *testing.T, b *bed.Bed) {
		s := newClass(t, b, "--provisioning=500ms")
		s.runs(t, daemon.Setup{Flags: []string{"--cloud-mutation-timeout=2s"}}) // for what hangs
		s.lives(t, nil)
		report, err := s.cloud.Calls(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		calls := int(report.Count())
		if calls < 6 {
			t.Fatalf("a life makes %d calls, want a list and a change for creation, edit and deletion at least", calls)
		}
		for n := range calls {
			t.Run(fmt.Sprintf("%d-%s", n+1, report.Last[n].Call), func(t *testing.T) {
				s.lives(t, &simulator.Fault{Name: "nth", Kind: kind, Skip: n, Count: 1})
			})
		}
	}
}

// lives is the life of one Service from its creation to its end, with a fault.
func (s services) lives(t *testing.T, fault *simulator.Fault) {
	t.Helper()
	if err := s.cloud.ResetCalls(t.Context()); err != nil {
		t.Fatal(err)
	}
	if fault != nil {
		s.cloud.Fail(t, *fault)
	}
	name := s.balanced(t, "life")
	s.awaitServingWithin(t, retriesWithin, name, s.hosts...)
	s.edit(t, name, `{"spec":{"ports":[{"port":81}]}}`)
	expect.Within(t, retriesWithin, func(ctx context.Context) error {
		l, err := s.balancer(ctx, name)
		return errors.Join(err, expect.Equal("port", 81, l.Listeners[0].Port))
	})
	s.awaitServingWithin(t, retriesWithin, name, s.hosts...)
	s.delete(t, name)
	s.awaitGone(t, name)
	if fault != nil {
		s.awaitHit(t, fault.Name)
	}
	s.createdOnce(t)
}

// The API server goes away in the middle of a Service's life, with a write of
// ours on its way.
func TestAPIServerRestartsInTheLifeOfAService(t *testing.T) {
	t.Run("Undisturbed", func(t *testing.T) { // so that the audit log tells what rights the daemon has
		s := newServices(t, onShared(t), 1)
		s.runs(t, daemon.Setup{})
		s.passes(t)
	})
	for n, place := range []string{"Finalizer", "Address", "Release"} {
		t.Run(place, func(t *testing.T) {
			s := newServices(t, onShared(t), 1)
			api := s.BeforeAPIServer(t)
			d := s.runs(t, daemon.Setup{API: api})
			var name string
			var trap *proxy.Trap
			if place == "Release" {
				name = s.balanced(t, "restart")
				s.awaitServing(t, name, s.hosts...)
				trap = api.Trap(ofServices, 1, proxy.Before)
				s.delete(t, name)
			} else {
				trap = api.Trap(ofServices, n+1, proxy.Before)
				name = s.balanced(t, "restart")
			}
			bed.AwaitTrap(t, trap)
			s.RestartAPIServer(t, trap)
			if place != "Release" {
				s.awaitServingWithin(t, 2*time.Minute, name, s.hosts...)
				s.delete(t, name)
			}
			s.awaitGone(t, name)
			s.createdOnce(t)
			if d.Ended() {
				t.Errorf("the daemon has ended with code %d", d.Code())
			}
		})
	}
}

// A Service becomes internal and wants a load balancer again, while the daemon
// runs.
func TestServiceChangesItsType(t *testing.T) {
	s := newServices(t, onShared(t), 1)
	s.runs(t, daemon.Setup{})
	name := s.balanced(t, "type")
	first := s.awaitServing(t, name, s.hosts...)
	s.edit(t, name, `{"spec":{"type":"ClusterIP"}}`)
	s.awaitInternal(t, name)
	s.awaitTold(t, name, expect.Soon, "Normal DeletedLoadBalancer")
	s.edit(t, name, `{"spec":{"type":"LoadBalancer"}}`)
	if second := s.awaitServing(t, name, s.hosts...); second.ID == first.ID {
		t.Errorf("load balancer %s is there again", first.ID)
	}
}

// Without a node behind it a Service says so, and is served once there is one.
func TestServiceWithoutNodes(t *testing.T) {
	const unavailable = "Warning UnAvailableLoadBalancer: There are no available nodes for LoadBalancer"
	s := newServices(t, onShared(t), 0)
	s.runs(t, daemon.Setup{})
	name := s.balanced(t, "lonely")
	empty := func(service *corev1.Service) error {
		l, err := s.balancer(t.Context(), name)
		return errors.Join(err, expect.Equal("backends", []string{}, l.Backends),
			showing(conditionServing, metav1.ConditionFalse, "NoNodes", "no available nodes")(service),
			showing(conditionProvisioning, metav1.ConditionFalse, "Provisioned")(service))
	}
	s.awaitService(t, name, expect.Soon, empty)
	s.awaitTold(t, name, expect.Soon, unavailable)
	i, node := s.Pair(t, s.cloud, simulator.Instance{Name: s.Name("first")})
	s.awaitServing(t, name, i)
	s.awaitTold(t, name, expect.Soon, "Normal UpdatedLoadBalancer: Updated load balancer with new hosts")

	s.Patch(t, node.Name, `{"metadata":{"labels":{"`+corev1.LabelNodeExcludeBalancers+`":""}}}`)
	s.awaitService(t, name, expect.Soon, empty)
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		told, err := s.told(ctx, name)
		return errors.Join(err, expect.Equal("times that it was told", 2, expect.CountPrefix(told, unavailable)))
	})
}
