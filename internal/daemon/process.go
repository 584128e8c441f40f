package daemon

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/daemon/election"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider"
	"github.com/fairlead-k8s/fairlead/internal/daemon/serving"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/readonly"
	"github.com/fairlead-k8s/fairlead/internal/versions"
)

// Process is a program whose provider has been made.
type Process struct {
	*Program

	config    *rest.Config
	clients   clients
	current   *provider.Current
	provider  provider.Made                   // used while this replica leads
	rotation  *provider.Rotation              // nil in tests
	informers informers.SharedInformerFactory // for our controllers
	health    *serving.Health
	election  *election.Election // nil: no election
	migration *election.Election // for the second lease; nil: no controllers move
	// gateway makes the calls to the cloud. It is nil until this replica leads and
	// the provider is initialised.
	gateway  atomic.Pointer[cloud.Gateway]
	Registry metrics.KubeRegistry // has our metrics only
	metrics  controllerMetrics
	// initializing is set while the provider has not returned from its
	// Initialize, from SetInformers or from an accessor.
	initializing atomic.Bool
	// idle is set while none of our controllers has work, because the provider offers
	// nothing. tellIdle reports this once, in the log and in an event.
	idle     atomic.Bool
	tellIdle func()
	memories memories
	// fail ends the process in the same steps as a planned stop.
	fail context.CancelCauseFunc
}

// NewProcess makes the clients and then calls the provider's factory.
func NewProcess(ctx context.Context, what *Program) (*Process, error) {
	what.greet(klog.FromContext(ctx))
	s := what.Settings
	config, err := s.Client.RESTConfig()
	if err != nil {
		return nil, err
	}
	if what.looks != nil {
		config.Wrap(readonly.Wrap(what.looks.Refused))
		config.Wrap(kube.TellDenied(what.looks.Denied))
	}
	clients, err := newClients(s.Client, config)
	if err != nil {
		return nil, err
	}
	shared, err := clients.informers()
	if err != nil {
		return nil, err
	}
	watched := s.Rotation.Watched()
	// The fingerprint is taken before the provider is made, so that a change of the
	// files in the meantime is noticed.
	fingerprint, err := provider.Fingerprint(watched)
	if err != nil {
		return nil, fmt.Errorf("files of the provider: %w", err)
	}
	factory := what.factory(clients)
	made, err := factory.Make(ctx)
	if err != nil {
		return nil, err
	}
	registry := metrics.NewKubeRegistry()
	p := &Process{
		Program:   what,
		config:    config,
		clients:   clients,
		current:   provider.NewCurrent(factory, made, s.Provider.ReadTimeout, what.Self),
		informers: kube.NewInformerFactory(shared, s.Controllers.ResyncPeriod(), s.Service.Policy().IsServed),
		Registry:  registry,
		metrics:   newControllerMetrics(registry.MustRegister, registry.CustomMustRegister),
	}
	p.rotation = provider.NewRotation(watched, fingerprint, p.current, p.metrics.rotation)
	return p, nil
}

// factory returns the factory of the provider that the flags name.
func (p *Program) factory(c clients) *provider.Factory {
	s := p.Settings
	return &provider.Factory{
		Name:          s.Provider.Name,
		ConfigFile:    s.Provider.ConfigFile,
		AllowUntagged: s.Provider.AllowUntagged,
		New:           p.Options.Provider,
		Flags:         s.Flags(),
		Clients:       c.each,
		Asked:         make(chan struct{}, 1),
		Informers: func() (informers.SharedInformerFactory, error) {
			client, err := c.informers()
			if err != nil {
				return nil, err
			}
			return informers.NewSharedInformerFactoryWithOptions(client, s.Controllers.ResyncPeriod(), informers.WithTweakListOptions(kube.NotOlder)), nil
		},
	}
}

// greet logs the version, and warnings for the operator.
func (p *Program) greet(logger klog.Logger) {
	s := p.Settings
	logger.Info("Starting", "version", s.Global.Version(), "provider", s.Provider.Name)
	if s.Provider.ClusterName == settings.DefaultClusterName {
		logger.Info("Warning: --cluster-name is the default; two such clusters in one account of the cloud overwrite each other's load balancers and routes",
			"clusterName", settings.DefaultClusterName)
	}
	for _, b := range versions.Linked() {
		logger.Info("Warning: a module is behind the other modules of Kubernetes", "module", b.Module, "version", b.Version, "needed", b.Needed)
	}
	for _, i := range s.Ignored() {
		logger.Info("Warning: this flag changes nothing here", "flag", i.Flag, "why", i.Why)
	}
	if missing := p.controllers.missing(s.Controllers.Enabled()); missing != nil {
		logger.Info("Some enabled controllers do not exist in this version", "controllers", missing)
	}
}
