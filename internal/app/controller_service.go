package app

import (
	"context"

	"github.com/fairlead-k8s/fairlead/internal/app/internal/settings"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// startServices makes the controller that gives Services their load balancers. If
// this daemon also initialises Nodes, an uninitialised Node is not a backend.
func startServices(s settings.Service, initialises bool, claim ownership.Claim) start {
	return func(ctx context.Context, d deps) (controller, error) {
		balancers := d.gateway.LoadBalancers()
		if balancers == nil {
			return nil, notOffered("the provider offers no load balancers")
		}
		c := s.Config(balancers.Concurrency())
		c.Backends.Claim = claim
		c.Backends.SkipUninitialized = initialises && d.gateway.Instances() != nil
		c.Metrics = d.metrics.services
		informer := d.informers.Core().V1().Services()
		deps := service.Deps{
			Services:  kube.NewServices(ctx, d.client, informer, c.Policy.IsServed),
			Informer:  informer,
			Nodes:     d.informers.Core().V1().Nodes(),
			Balancers: balancers,
			Events:    d.recorder,
		}
		if balancers.MaxUpdates() > 0 {
			deps.Many = balancers
		}
		return watch(service.New(deps, c), d.timeouts.change), nil
	}
}
