package app

import (
	"context"

	"github.com/fairlead-k8s/fairlead/internal/controller/route"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// startRoutes makes the controller that keeps the cloud's routes.
func startRoutes(ctx context.Context, d deps) (controller, error) {
	o := &d.options.route
	if !o.configure {
		return nil, skip("--configure-cloud-routes is false")
	}
	table := d.gateway.Routes()
	if table == nil {
		return nil, skip("the provider offers no routes")
	}
	clusters, err := o.clusters()
	if err != nil {
		return nil, misconfigured{err}
	}
	informer := d.informers.Core().V1().Nodes()
	return watched{
		worker: route.New(route.Deps{
			Nodes:    kube.NewNodes(ctx, d.client, informer),
			Informer: informer,
			Routes:   table,
			Events:   d.recorder,
		}, route.Config{
			Clusters: clusters,
			Syncs:    int(o.syncs),
			Period:   o.period,
			Limits:   o.limits,
			Lease:    d.options.election.lease(),
			Metrics:  d.metrics.routes,
		}),
		longest: d.options.provider.changeTimeout + stuckAfter,
	}, nil
}
