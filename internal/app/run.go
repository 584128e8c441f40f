package app

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/spf13/pflag"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/version"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/node"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodelifecycle"
	"github.com/fairlead-k8s/fairlead/internal/controller/route"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// process is what is known once the provider's factory has succeeded.
type process struct {
	options   *options
	config    *rest.Config
	clients   clients
	holder    *holder
	provider  built                           // what holder had when this replica began to lead
	rotation  *rotation                       // nil where the provider has no files
	informers informers.SharedInformerFactory // for our controllers
	health    *health
	election  *election // nil: no election
	migration *election // for the second lease; nil: no controllers move
	// gateway is the way to the cloud once this replica leads and it has been
	// initialised.
	gateway  atomic.Pointer[cloud.Gateway]
	registry metrics.KubeRegistry // has our metrics only
	metrics  controllerMetrics
	// initializing is set while the provider has not returned from its
	// Initialize, from SetInformers or from an accessor.
	initializing atomic.Bool
	// fail ends the process, with everything that a planned stop does.
	fail context.CancelCauseFunc
}

// controllerMetrics live as long as the process, however often it leads.
type controllerMetrics struct {
	cloud     *cloud.Metrics
	nodes     *node.Metrics
	lifecycle *nodelifecycle.Metrics
	services  *service.Metrics
	routes    *route.Metrics
	rotation  rotationMetrics
	// misconfigured is 1 for a controller that does not run for its flags.
	misconfigured *metrics.GaugeVec
}

// newControllerMetrics returns metrics that count once both functions have seen
// them.
func newControllerMetrics(register func(...metrics.Registerable), collect func(...metrics.StableCollector)) controllerMetrics {
	m := controllerMetrics{
		cloud:     cloud.NewMetrics(register),
		nodes:     node.NewMetrics(register, collect),
		lifecycle: nodelifecycle.NewMetrics(register, collect),
		services:  service.NewMetrics(register, collect),
		routes:    route.NewMetrics(register, collect),
		rotation:  newRotationMetrics(register),
		misconfigured: metrics.NewGaugeVec(&metrics.GaugeOpts{
			Name:           "fairlead_controller_misconfigured",
			Help:           "1 for a controller that does not run since its flags are wrong",
			StabilityLevel: metrics.ALPHA,
		}, []string{"name"}),
	}
	register(m.misconfigured)
	return m
}

// run is the program: it returns nil after a stop that ctx asked for.
func run(ctx context.Context, o *options) error {
	working, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	p, err := newProcess(working, o)
	if err != nil {
		return unlessStopped(ctx, err)
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

// unlessStopped drops the error of work that was interrupted by a planned stop.
func unlessStopped(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// newProcess makes the clients and then calls the provider's factory.
func newProcess(ctx context.Context, o *options) (*process, error) {
	greet(klog.FromContext(ctx), o)
	config, err := o.client.restConfig()
	if err != nil {
		return nil, err
	}
	clients, err := o.client.clients(config)
	if err != nil {
		return nil, err
	}
	shared, err := clients.own.Client(informersName)
	if err != nil {
		return nil, fmt.Errorf("client of the informers: %w", err)
	}
	followed := o.rotation.followed()
	// Before it is built: what changes meanwhile is noticed later.
	files, err := fingerprint(followed)
	if err != nil {
		return nil, fmt.Errorf("files of the provider: %w", err)
	}
	provider, err := o.build(ctx, clients)
	if err != nil {
		return nil, err
	}
	registry := metrics.NewKubeRegistry()
	p := &process{
		options:   o,
		config:    config,
		clients:   clients,
		holder:    &holder{built: provider},
		informers: kube.NewInformerFactory(shared, o.controllers.resyncPeriod()),
		registry:  registry,
		metrics:   newControllerMetrics(registry.MustRegister, registry.CustomMustRegister),
	}
	if len(followed) > 0 {
		p.rotation = &rotation{
			look:    func() (string, error) { return fingerprint(followed) },
			apply:   p.rotate,
			metrics: p.metrics.rotation,
			clock:   clock.RealClock{},
			inUse:   files,
			state:   inUseText,
		}
	}
	return p, nil
}

// greet logs what the operator should know before anything happens.
func greet(logger klog.Logger, o *options) {
	logger.Info("Starting", "version", version.Get().String(), "provider", o.provider.name)
	if o.provider.clusterName == defaultClusterName {
		logger.Info("Warning: --cluster-name is the default; two such clusters in one account of the cloud take each other's load balancers and routes",
			"clusterName", defaultClusterName)
	}
	o.flagSet.Visit(func(f *pflag.Flag) {
		if why := f.Annotations[remarkIgnored]; why != nil && f.Value.String() != f.DefValue {
			logger.Info("Warning: this flag changes nothing here", "flag", "--"+f.Name, "why", why[0])
		}
	})
	if missing := o.controllers.missing(); missing != nil {
		logger.Info("Enabled controllers that are not in this version", "controllers", missing)
	}
}

// run serves, and leads when it is its turn, until ctx ends and all is over.
func (p *process) run(ctx context.Context) error {
	client, err := p.clients.own.Client(managerName)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	if err := p.register(newRecorder(lasting, client, managerName)); err != nil {
		return err
	}
	p.health = newHealth(healthSources{
		draining:     ctx.Done(),
		election:     p.election,
		migration:    p.migration,
		apiServer:    newAPIServerCheck(client.Discovery().RESTClient(), clock.RealClock{}),
		informers:    p.informers,
		initializing: p.initializing.Load,
		notes:        p.notes(),
	})
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
	defer p.follow(ctx, kube.NewRecorder(lasting, client, managerName))()
	if p.election == nil {
		return hold(ctx, nil, p.lead)
	}
	return p.election.run(ctx, p.lead)
}

// notes are what the probes tell.
func (p *process) notes() []note {
	notes := []note{{"cloud", p.cloudState}}
	if p.rotation != nil {
		notes = append(notes, note{"cloud-config", p.rotation.text})
	}
	return notes
}

// follow follows the provider's files until ctx ends or stop is called.
func (p *process) follow(ctx context.Context, recorder *kube.Recorder) (stop func()) {
	if p.rotation == nil {
		return func() {}
	}
	p.rotation.tell = func(eventType, reason, message string) {
		recorder.Lease(p.options.election.lease(), eventType, reason, message)
	}
	p.rotation.fail = p.fail
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.rotation.run(ctx, p.options.rotation.period)
	}()
	return func() { cancel(); <-ended }
}

// register makes this replica's part in the elections that the flags ask for.
func (p *process) register(recorder record.EventRecorder) (err error) {
	o := p.options.election
	if !o.LeaderElect {
		return nil
	}
	if p.election, err = newElection(o, p.config, recorder); err != nil {
		return err
	}
	if plan := p.options.migration.plan; plan != nil {
		o.ResourceName = plan.LeaderName
		p.migration, err = newElection(o, p.config, recorder)
	}
	return err
}
