package app

import (
	"context"

	"github.com/fairlead-k8s/fairlead/internal/controller/service"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// startServices makes the controller that gives Services their load balancers.
func startServices(ctx context.Context, d deps) (controller, error) {
	balancers := d.gateway.LoadBalancers()
	if balancers == nil {
		return nil, skip("the provider offers no load balancers")
	}
	o := &d.options.service
	informer := d.informers.Core().V1().Services()
	initialises := d.gateway.Instances() != nil && d.options.controllers.runs(nodeController)
	return watched{
		worker: service.New(service.Deps{
			Services:  kube.NewServices(ctx, d.client, informer),
			Informer:  informer,
			Nodes:     d.informers.Core().V1().Nodes(),
			Balancers: balancers,
			Events:    d.recorder,
		}, service.Config{
			Syncs:   o.concurrency(balancers.Concurrency()),
			Policy:  service.Policy{Classes: o.classes, Resync: o.resync},
			Choice:  service.Choice{Uninitialized: initialises, OnTaint: o.wakes(wakeOnTaint), OnDeletion: o.wakes(wakeOnDeletion)},
			Metrics: d.metrics.services,
		}),
		longest: d.options.provider.changeTimeout + stuckAfter,
	}, nil
}
