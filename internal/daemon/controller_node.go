package daemon

import (
	"context"

	"github.com/fairlead-k8s/fairlead/internal/controller/node"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodelifecycle"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// startNodes makes the controller that initialises Nodes and keeps them up to date
// with their instances.
func startNodes(s *settings.Settings) start {
	return func(ctx context.Context, d deps) (Runner, error) {
		instances := d.gateway.Instances()
		if instances == nil {
			return nil, notOffered("the provider offers no instances")
		}
		c := s.Node.Concurrent(s.Node.Config(s.Ownership.Claim()), d.gateway.Concurrency().Instances)
		c.MarkIdentity = s.Controllers.Runs(settings.CertificateController)
		c.Metrics = d.metrics.nodes
		informer := d.informers.Core().V1().Nodes()
		deps := node.Deps{
			Nodes:     kube.NewNodes(ctx, d.client, informer),
			Informer:  informer,
			Instances: instances,
			Events:    d.recorder,
		}
		if list := instances.Lister(); list != nil {
			deps.List = list
		}
		if changes := instances.Watcher(); changes != nil {
			deps.Watch = changes
		}
		return watch(node.New(deps, c), d.timeouts.read), nil
	}
}

// startLifecycle makes the controller that deletes Nodes.
func startLifecycle(s settings.Lifecycle, claim ownership.Claim) start {
	return func(ctx context.Context, d deps) (Runner, error) {
		instances := d.gateway.Instances()
		if instances == nil {
			return nil, notOffered("the provider offers no instances")
		}
		c := s.Concurrent(s.Config(claim), d.gateway.Concurrency().Existence)
		c.Metrics = d.metrics.lifecycle
		informer := d.informers.Core().V1().Nodes()
		return watch(nodelifecycle.New(nodelifecycle.Deps{
			Nodes:     kube.NewNodes(ctx, d.client, informer),
			Informer:  informer,
			Instances: instances,
			Events:    d.recorder,
		}, c), d.timeouts.read), nil
	}
}
