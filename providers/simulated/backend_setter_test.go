package simulated

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/simulator"
)

func TestSetBackends(t *testing.T) {
	b := newBalancing(t, simulator.Config{})
	other := func(s *corev1.Service) { s.Name, s.UID = "other", "u-other" }
	gone := func(s *corev1.Service) { s.Name, s.UID = "gone", "u-gone" }
	services := []*corev1.Service{webService(), webService(gone), webService(other)}
	for _, s := range []*corev1.Service{services[0], services[2]} {
		if _, err := b.balancers.EnsureLoadBalancer(t.Context(), cluster, s, nil); err != nil {
			t.Fatal(err)
		}
	}
	nodes := []*corev1.Node{{Spec: corev1.NodeSpec{ProviderID: "simulated://sim-1/i-00000007"}}}
	setter := b.balancers.(provider.BackendSetter)
	results, err := setter.SetBackends(t.Context(), cluster, services, nodes)
	if err != nil || len(results) != 3 || results[0].Err != nil || !errors.Is(results[1].Err, errNoLoadBalancer) || results[2].Err != nil {
		t.Fatalf("%v, %v", results, err)
	}
	report, err := b.operator.Calls(t.Context())
	diff(t, "error", nil, err)
	diff(t, "calls", int64(1), report.Count(simulator.SetBackends))
	diff(t, "other calls", int64(0), report.Count(simulator.UpdateLoadBalancer))
	all, err := b.operator.LoadBalancers(t.Context())
	diff(t, "error", nil, err)
	for _, l := range all {
		diff(t, l.Name, []string{"i-00000007"}, l.Backends)
	}
	results, err = setter.SetBackends(t.Context(), "another cluster", services[:1], nil)
	diff(t, "error", nil, err)
	diff(t, "the load balancer of another cluster is left as it is", true, errors.Is(results[0].Err, errNoLoadBalancer))

	b.set(t, simulator.Fault{Kind: simulator.FaultOutage})
	if results, err := setter.SetBackends(t.Context(), cluster, services, nodes); err == nil || results != nil {
		t.Errorf("%v, %v in an outage", results, err)
	}
}
