package daemon

import (
	"context"

	"github.com/fairlead-k8s/fairlead/internal/controller/ipam"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// startIPAM makes the controller that gives Nodes the CIDRs of their pods. It does
// not need the provider.
func startIPAM(s settings.IPAM, claim ownership.Claim) start {
	return func(ctx context.Context, d deps) (Runner, error) {
		if !s.Runs() {
			return nil, skip("--allocate-node-cidrs is false")
		}
		c, err := s.Config(claim)
		if err != nil {
			return nil, misconfigured{err}
		}
		c.Lease, c.Metrics = d.lease, d.metrics.cidrs
		informer := d.informers.Core().V1().Nodes()
		return watch(ipam.New(ipam.Deps{
			Nodes:    kube.NewNodes(ctx, d.client, informer),
			Informer: informer,
			Events:   d.recorder,
		}, c), d.timeouts.read), nil
	}
}
