package cloud

import (
	"context"

	"github.com/fairlead-k8s/fairlead/provider"
)

// Concurrency says for how many objects the provider may be called at the same time,
// for each kind of call. The provider declares these numbers; 0 means that it declares
// none.
type Concurrency struct{ Instances, Existence, LoadBalancers, Routes int }

// Concurrency returns the numbers that the provider declares.
func (g *Gateway) Concurrency() Concurrency { return g.concurrency }

// askConcurrency asks the provider for the numbers in Concurrency. If the provider
// panics, the panic is logged, and the defaults apply.
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
