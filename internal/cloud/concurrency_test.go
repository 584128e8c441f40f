package cloud

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// caller is a provider that declares how many calls of each kind may be made at the
// same time.
type caller struct {
	vendor

	declares func(provider.CallKind) int
}

func (c caller) MaxConcurrentCalls(kind provider.CallKind) int { return c.declares(kind) }

func TestConcurrencyIsDeclared(t *testing.T) {
	by := func(kind provider.CallKind) int {
		return map[provider.CallKind]int{provider.InstanceCalls: 100, provider.ExistenceCalls: -1, provider.LoadBalancerCalls: 5, provider.RouteCalls: 1}[kind]
	}
	one := balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
		return nil, nil
	})
	for _, tt := range []struct {
		name      string
		declares  func(provider.CallKind) int
		balancer  cloudprovider.LoadBalancer
		want      Concurrency
		balancers int
	}{
		{"EachKind", by, one, Concurrency{Instances: 100, LoadBalancers: 5, Routes: 1}, 5},
		{"ConcurrentLoadBalancerCounts", by, manyAtOnce{one}, Concurrency{Instances: 100, LoadBalancers: 5, Routes: 1}, 10},
		{"PanicMeansDefaults", func(provider.CallKind) int { panic("broken") }, one, Concurrency{}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := gateway(t, caller{vendor{balancer: tt.balancer}, tt.declares}, Config{})
			if diff := cmp.Diff(tt.want, g.Concurrency()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := g.LoadBalancers().Concurrency(); got != tt.balancers {
				t.Errorf("%d Services at once, want %d", got, tt.balancers)
			}
		})
	}
	if got := gateway(t, vendor{}, Config{}).Concurrency(); got != (Concurrency{}) {
		t.Errorf("%+v of a provider that declares nothing", got)
	}
}
