package app

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/app/internal/election"
	"github.com/fairlead-k8s/fairlead/internal/app/internal/provider"
	"github.com/fairlead-k8s/fairlead/internal/app/internal/serving"
	"github.com/fairlead-k8s/fairlead/internal/app/internal/settings"
	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/versions"
)

// process is a program whose provider has been made.
type process struct {
	*program

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
	registry metrics.KubeRegistry // has our metrics only
	metrics  controllerMetrics
	// initializing is set while the provider has not returned from its
	// Initialize, from SetInformers or from an accessor.
	initializing atomic.Bool
	// idle is set while none of our controllers has work, because the provider offers
	// nothing. tellIdle reports this once, in the log and in an event.
	idle     atomic.Bool
	tellIdle func()
	// seen records the cloud's answers. It is nil unless --compare-with is set.
	seen     *seen
	memories memories
	// fail ends the process in the same steps as a planned stop.
	fail context.CancelCauseFunc
}

// run runs a program. If ctx has ended, and all work has returned, it returns nil. A
// trial, which only tests a configuration, ends once the provider has been made.
func run(ctx context.Context, what *program) error {
	working, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	defer what.stopped(ctx)
	if what.settings.Shadow.On {
		what.onlyLook(klog.FromContext(ctx))
	}
	p, err := newProcess(working, what)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	defer p.current.Drop()
	if what.self.Tries() {
		return nil // A trial only makes the provider.
	}
	p.fail = fail
	err = p.run(working)
	switch {
	case err != nil && ctx.Err() == nil && working.Err() != nil:
		return errors.Join(context.Cause(working), err)
	case err != nil:
		return err
	default:
		return unlessStopped(ctx, context.Cause(working))
	}
}

// unlessStopped returns the error. After a planned stop, it returns nil, because the
// stop itself may have caused the error.
func unlessStopped(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// newProcess makes the clients and then calls the provider's factory.
func newProcess(ctx context.Context, what *program) (*process, error) {
	what.greet(klog.FromContext(ctx))
	s := what.settings
	config, err := s.Client.RESTConfig()
	if err != nil {
		return nil, err
	}
	if what.dry != nil {
		config.Wrap(kube.ReadOnly(what.dry.add))
		config.Wrap(kube.TellDenied(what.dry.deny))
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
	p := &process{
		program:   what,
		config:    config,
		clients:   clients,
		current:   provider.NewCurrent(factory, made, s.Provider.ReadTimeout, what.self),
		informers: kube.NewInformerFactory(shared, s.Controllers.ResyncPeriod(), s.Service.Policy().IsServed),
		registry:  registry,
		metrics:   newControllerMetrics(registry.MustRegister, registry.CustomMustRegister),
	}
	p.rotation = provider.NewRotation(watched, fingerprint, p.current, p.metrics.rotation)
	return p, nil
}

// factory returns the factory of the provider that the flags name.
func (p *program) factory(c clients) *provider.Factory {
	s := p.settings
	return &provider.Factory{
		Name:          s.Provider.Name,
		ConfigFile:    s.Provider.ConfigFile,
		AllowUntagged: s.Provider.AllowUntagged,
		New:           p.options.Provider,
		Flags:         s.Flags(),
		Clients:       c.each,
		Asked:         make(chan struct{}, 1),
		Informers: func() (informers.SharedInformerFactory, error) {
			client, err := c.informers()
			if err != nil {
				return nil, err
			}
			return informers.NewSharedInformerFactory(client, s.Controllers.ResyncPeriod()), nil
		},
	}
}

// greet logs the version, and warnings for the operator.
func (p *program) greet(logger klog.Logger) {
	s := p.settings
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

// run serves, takes part in the election, and leads if this replica wins. With
// --shadow, it does not take part in the election, and only decides and reports. It
// returns after an error, or once ctx has ended and all work has returned.
func (p *process) run(ctx context.Context) error {
	client, err := p.clients.own.Client(settings.ManagerName)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	if err := p.register(newRecorder(lasting, client, settings.ManagerName)); err != nil {
		return err
	}
	p.health = serving.NewHealth(p.sources(ctx, client))
	stopServing, err := p.serve(ctx)
	if err != nil {
		return err
	}
	defer stopServing()
	stopWebhooks, err := p.serveWebhooks(ctx)
	if err != nil {
		return err
	}
	defer stopWebhooks()
	defer p.watch(ctx, kube.NewRecorder(lasting, client, settings.ManagerName))()
	switch {
	case p.dry != nil:
		return election.Hold(ctx, nil, p.shadow)
	case p.election == nil:
		return election.Hold(ctx, nil, p.lead)
	}
	return p.election.Run(ctx, p.lead)
}

// register joins the elections that the flags ask for.
func (p *process) register(recorder record.EventRecorder) (err error) {
	config := p.settings.Election.LeaderElectionConfiguration
	if !config.LeaderElect {
		return nil
	}
	if p.election, err = election.Join(config, p.config, recorder); err != nil {
		return err
	}
	if plan := p.settings.Migration.Plan(); plan != nil {
		config.ResourceName = plan.LeaderName
		p.migration, err = election.Join(config, p.config, recorder)
	}
	return err
}

// sources returns the values that the probes depend on.
func (p *process) sources(ctx context.Context, client kubernetes.Interface) serving.Sources {
	s := serving.Sources{
		Draining:     ctx.Done(),
		APIServer:    serving.NewAPIServerCheck(client.Discovery().RESTClient(), clock.RealClock{}),
		Informers:    p.informers,
		Initializing: p.initializing.Load,
		Notes:        []serving.Note{{About: "cloud", Text: p.cloudState}, {About: "provider", Text: p.offers}},
	}
	if p.election != nil {
		s.Leases, s.Contending = append(s.Leases, p.election.Check()), p.election.Contending
	}
	if p.migration != nil {
		s.Leases = append(s.Leases, healthz.NamedCheck("leaderElectionMigration", p.migration.Check().Check))
	}
	if p.rotation != nil && len(p.settings.Rotation.Watched()) > 0 {
		s.Notes = append(s.Notes, serving.Note{About: "cloud-config", Text: p.rotation.State})
	}
	return s
}

// serve starts to serve HTTPS. It serves until stop is called.
func (p *process) serve(ctx context.Context) (stop func(), err error) {
	removeConfigz, err := p.settings.RegisterConfigz()
	if err != nil {
		return nil, err
	}
	s := &p.settings.Serving
	var theirs []metrics.Gatherer
	for _, g := range p.options.Metrics {
		theirs = append(theirs, g)
	}
	stopServing, err := serving.Serve(ctx, serving.Config{
		Secure:         s.Secure,
		Authentication: s.Authentication,
		Authorization:  s.Authorization,
		Debugging:      &p.settings.Debugging.DebuggingConfiguration,
		Component:      serving.Component{Name: settings.ManagerName, Version: p.options.Version, Flags: p.settings.ShownFlags},
		Metrics:        theirs,
		Objects:        p.memories.of,
	}, p.health, p.registry)
	if err != nil {
		removeConfigz()
		return nil, err
	}
	return func() { stopServing(); removeConfigz() }, nil
}

// serveWebhooks starts to serve the webhooks. It serves them until stop is called.
func (p *process) serveWebhooks(ctx context.Context) (stop func(), err error) {
	if p.dry != nil {
		return func() {}, nil // The API server calls the webhooks of the present manager.
	}
	return serving.ServeWebhooks(ctx, serving.WebhookConfig{
		Secure:   p.settings.Webhooks.Secure,
		ClientCA: p.settings.Webhooks.ClientCA,
		Webhooks: p.webhooks(),
	}, p.health, p.registry.MustRegister)
}

// watch begins to watch the provider's files. It watches them until ctx ends or stop
// is called.
func (p *process) watch(ctx context.Context, recorder *kube.Recorder) (stop func()) {
	if p.rotation == nil {
		return func() {}
	}
	reports := provider.Reports{
		Event: func(e message.Event) {
			if p.dry == nil {
				recorder.Lease(p.settings.Election.Lease(), e.Type, e.Reason, e.Message)
			}
		},
		Fail: p.fail,
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.rotation.Run(ctx, p.settings.Rotation.Period(), reports)
	}()
	return func() { cancel(); <-ended }
}
