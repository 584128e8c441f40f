package app

import (
	"context"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/node"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodelifecycle"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// stuckAfter is how much longer than the longest deadline a pass over one node
// may take before the process is restarted.
const stuckAfter = 5 * time.Minute

// startNodes makes the controller that keeps nodes in step with instances.
func startNodes(ctx context.Context, d deps) (controller, error) {
	instances := d.gateway.Instances()
	if instances == nil {
		return nil, skip("the provider offers no instances")
	}
	o := &d.options.node
	informer := d.informers.Core().V1().Nodes()
	return watched{
		worker: node.New(node.Deps{
			Nodes:     kube.NewNodes(ctx, d.client, informer),
			Informer:  informer,
			Instances: instances,
			Events:    d.recorder,
		}, node.Config{
			Reads:      int(o.syncs),
			Refreshers: int(o.refreshes()),
			Refresh:    o.statusFrequency,
			Labels:     node.LabelPolicy{Type: o.labels.instanceType, Additional: o.labels.additional},
			Metrics:    d.metrics.nodes,
		}),
		longest: d.options.provider.readTimeout + stuckAfter,
	}, nil
}

// startLifecycle makes the controller that removes nodes.
func startLifecycle(ctx context.Context, d deps) (controller, error) {
	instances := d.gateway.Instances()
	if instances == nil {
		return nil, skip("the provider offers no instances")
	}
	o := &d.options.lifecycle
	informer := d.informers.Core().V1().Nodes()
	return watched{
		worker: nodelifecycle.New(nodelifecycle.Deps{
			Nodes:     kube.NewNodes(ctx, d.client, informer),
			Informer:  informer,
			Instances: instances,
			Events:    d.recorder,
		}, nodelifecycle.Config{
			Reads:   int(o.syncs),
			Limits:  o.removal(),
			Metrics: d.metrics.lifecycle,
		}),
		longest: d.options.provider.readTimeout + stuckAfter,
	}, nil
}

// worker is a controller that knows how long it has been at one key.
type worker interface {
	controller
	Stuck(limit time.Duration) error
}

// watched is a controller with the limit that this process sets it.
type watched struct {
	worker
	longest time.Duration
}

// Live is a liveness.
func (w watched) Live() error { return w.Stuck(w.longest) }
