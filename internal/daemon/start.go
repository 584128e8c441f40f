package daemon

import (
	"context"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/certificate"
	"github.com/fairlead-k8s/fairlead/internal/controller/ipam"
	"github.com/fairlead-k8s/fairlead/internal/controller/node"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodelifecycle"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/controller/route"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
	"github.com/fairlead-k8s/fairlead/internal/controller/volume"
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

// startServices makes the controller that gives Services their load balancers. If
// this daemon also initialises Nodes, an uninitialised Node is not a backend.
func startServices(s settings.Service, initialises bool, claim ownership.Claim) start {
	return func(ctx context.Context, d deps) (Runner, error) {
		balancers := d.gateway.LoadBalancers()
		if balancers == nil {
			return nil, notOffered("the provider offers no load balancers")
		}
		c := s.Config(balancers.Concurrency())
		c.Backends.Claim, c.Backends.Subset.Limit = claim, balancers.MaxBackends()
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
		if s.ReadsEndpoints() {
			deps.Slices = d.informers.Discovery().V1().EndpointSlices()
		}
		if balancers.MaxUpdates() > 0 {
			deps.Many = balancers
		}
		return watch(service.New(deps, c), d.timeouts.change), nil
	}
}

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

// startCertificates makes the controller that approves the serving certificates of
// kubelets.
func startCertificates(c certificate.Config, resync time.Duration) start {
	return func(ctx context.Context, d deps) (Runner, error) {
		instances := d.gateway.Instances()
		if instances == nil {
			return nil, notOffered("the provider offers no instances")
		}
		c.Metrics = d.metrics.certs
		informer := d.informers.Core().V1().Nodes()
		return watch(certificate.New(certificate.Deps{
			Requests:  kube.NewRequests(d.client, certificatesv1.KubeletServingSignerName, resync),
			Nodes:     kube.NewNodes(ctx, d.client, informer),
			Informer:  informer,
			Services:  d.informers.Core().V1().Services(),
			Instances: instances,
			Events:    d.recorder,
		}, c), d.timeouts.read), nil
	}
}

// startVolumes makes the controller that labels volumes. If the provider cannot label
// volumes now, it never can, so it is not asked again.
func startVolumes(ctx context.Context, d deps) (Runner, error) {
	labeler := d.gateway.Volumes()
	if labeler == nil {
		return nil, skip("the provider offers no labels of volumes (PVLabeler)")
	}
	informer := d.informers.Core().V1().PersistentVolumes()
	return watch(volume.New(volume.Deps{
		Volumes:  kube.NewVolumes(ctx, d.client, informer),
		Informer: informer,
		Labeler:  labeler,
		Events:   d.recorder,
	}), d.timeouts.read), nil
}

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
