package daemon

import (
	"context"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/controller/route"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// startRoutes makes the controller that adapts the cloud's routes to the Nodes.
func startRoutes(s settings.Route, claim ownership.Claim) start {
	return func(ctx context.Context, d deps) (Runner, error) {
		if !s.Configured() {
			return nil, skip("--configure-cloud-routes is false")
		}
		table := d.gateway.Routes()
		if table == nil {
			return nil, notOffered("the provider offers no routes")
		}
		c, err := s.Config()
		if err != nil {
			return nil, misconfigured{err}
		}
		c = s.Concurrent(c, d.gateway.Concurrency().Routes)
		c.Claim, c.Lease, c.Metrics = claim, d.lease, d.metrics.routes
		informer := d.informers.Core().V1().Nodes()
		return watch(route.New(route.Deps{
			Nodes:    kube.NewNodes(ctx, d.client, informer),
			Informer: informer,
			Routes:   table,
			Events:   d.recorder,
		}, c), d.timeouts.change), nil
	}
}
