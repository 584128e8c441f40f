package cloud

import (
	"context"

	"github.com/fairlead-k8s/fairlead/provider"
)

// Concurrency is the number of objects for which the provider may be called at the same
// time, for each kind of call. The provider declares it; 0 means that the provider
// declares nothing.
type Concurrency struct{ Instances, Existence, LoadBalancers, Routes int }

// Concurrency returns what the provider declares.
func (g *Gateway) Concurrency() Concurrency { return g.concurrency }

// askConcurrency asks the provider for what it declares. A panic is logged, and the
// defaults hold.
func (g *Gateway) askConcurrency(ctx context.Context) {
	if g.extras.concurrent == nil {
		return
	}
	_ = guard(context.WithoutCancel(ctx), "MaxConcurrentCalls", func() error {
		of := func(kind provider.CallKind) int { return max(g.extras.concurrent.MaxConcurrentCalls(kind), 0) }
		g.concurrency = Concurrency{of(provider.InstanceCalls), of(provider.ExistenceCalls), of(provider.LoadBalancerCalls), of(provider.RouteCalls)}
		return nil
	})
}
