package daemon

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/client-go/tools/record"
	controllermetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/daemon/election"
	"github.com/fairlead-k8s/fairlead/internal/daemon/serving"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

// lead works under the lease: it initialises the provider, makes the controllers,
// starts the informers, and runs the controllers. It returns once ctx has ended and
// all work has returned. A failure before that ends the process.
func (p *Process) lead(ctx context.Context) {
	if ctx.Err() != nil {
		return // The lease was acquired after the process was asked to stop.
	}
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	// The provider's goroutines end after our work and before the release of the
	// lease.
	defer p.current.Drop()
	p.provider = p.current.Take()
	stop, err := p.initialize(ctx)
	defer stop()
	if err != nil {
		p.fail(err)
		return
	}
	started, err := p.startControllers(ctx, lasting)
	if err != nil {
		p.fail(err)
		return
	}
	p.StartInformers(ctx)
	p.beginIdle(lasting, started)
	defer p.followLimit(ctx, lasting)()
	defer p.lookBeside(ctx, lasting)()
	p.runAll(ctx, started)
}

// cloudState returns a summary of the results of the last calls to the cloud.
func (p *Process) cloudState() string {
	if gateway := p.gateway.Load(); gateway != nil {
		return gateway.State()
	}
	return "is not called before this replica leads"
}

// initialize tells the provider that this replica leads, and opens the gateway. The
// provider's goroutines end when stop is called: after the work, so that the last calls to
// the cloud can end. If ctx ends before initialize returns, they end at once, because the
// provider may wait for that.
func (p *Process) initialize(ctx context.Context) (stop func(), err error) {
	p.initializing.Store(true)
	defer p.initializing.Store(false)
	providing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, stop)()
	err = p.provider.Initialize(providing, p.clients.each)
	if err == nil {
		err = p.open(ctx)
	}
	if err != nil {
		return stop, fmt.Errorf("cloud provider %q: %w", p.Settings.Provider.Name, err)
	}
	return stop, nil
}

// open makes the gateway for the interfaces that the provider offers.
func (p *Process) open(ctx context.Context) error {
	s := p.Settings
	var readOnly func(method, object string)
	if p.looks != nil {
		readOnly = func(method, object string) { p.looks.Refused(method + " " + object) }
	}
	gateway, err := p.provider.Cloud.Open(ctx, cloud.Config{
		ReadOnly:      readOnly,
		ReadTimeout:   s.Provider.ReadTimeout,
		ChangeTimeout: s.Provider.ChangeTimeout,
		ClusterName:   s.Provider.ClusterName,
		WithoutRoutes: !s.Route.Configured() || !s.Controllers.Runs(settings.RouteController),
		Classify:      p.Options.Classify,
		Ceiling:       s.Provider.Ceiling,
		Budget:        s.Provider.Budget,
		Metrics:       p.metrics.cloud,
	})
	if err == nil {
		p.gateway.Store(gateway)
	}
	return err
}

// started is a controller that was made but does not run yet. Its field
// controller is nil while the provider does not offer what the controller
// needs.
type started struct {
	registration
	controller Runner
	placement  election.Placement
	again      func() (made started, runs bool, err error) // makes the controller once the provider offers more
}

// startControllers makes the enabled controllers. The events of the controllers are
// written until the context lasting ends. It ends later than ctx.
func (p *Process) startControllers(ctx, lasting context.Context) ([]started, error) {
	logger := klog.FromContext(ctx)
	var all []started
	for _, r := range p.enabled() {
		where := p.place(r.Name)
		if r.start == nil || where == election.Elsewhere {
			logger.V(2).Info("Controller does not run here", "controller", r.Name)
			continue
		}
		made, runs, err := p.make(ctx, lasting, started{registration: r, placement: where})
		switch {
		case err != nil:
			return nil, err
		case runs:
			all = append(all, made)
		}
	}
	return all, nil
}

// make makes a controller. The second result reports whether the controller is to run,
// now or later. It runs later if the provider does not yet offer what the controller
// needs.
func (p *Process) make(ctx, lasting context.Context, s started) (made started, runs bool, err error) {
	logger := klog.FromContext(ctx)
	s.again = func() (started, bool, error) { return p.make(ctx, lasting, s) }
	s.controller, err = p.startController(ctx, lasting, s.registration)
	var why skip
	var missing notOffered
	var broken misconfigured
	switch {
	case errors.As(err, &missing):
		logger.V(2).Info("Controller has nothing to do yet", "controller", s.Name, "why", missing)
		s.controller = nil
		return s, true, nil
	case errors.As(err, &why):
		logger.Info("Controller has nothing to do", "controller", s.Name, "why", why)
		return s, false, nil
	case errors.As(err, &broken) && !p.Settings.Controllers.Names(s.Name):
		p.leaveOut(ctx, lasting, s.registration, broken)
		return s, false, nil
	case err != nil:
		return s, false, fmt.Errorf("starting %q: %w", s.Name, err)
	default:
		return s, true, nil
	}
}

// leaveOut reports that a controller does not run. The report is in the log, a
// metric, the probes and an event.
func (p *Process) leaveOut(ctx, lasting context.Context, r registration, why misconfigured) {
	klog.FromContext(ctx).Error(why, "Controller does not run", "controller", r.Name)
	p.metrics.misconfigured.WithLabelValues(r.Name).Set(1)
	p.health.Show(serving.Note{About: r.Name, Text: func() string { return "does not run: " + why.Error() }})
	client, err := p.clients.each.Client(r.ClientName)
	if err != nil {
		return // The controller and the reason are in the log.
	}
	e := controllerMisconfigured.Event(fmt.Sprintf("%s does not run: %v", r.Name, why))
	kube.NewRecorder(lasting, client, r.Source).Lease(p.Settings.Election.Lease(), e.Type, e.Reason, e.Message)
}

func (p *Process) startController(ctx, lasting context.Context, r registration) (Runner, error) {
	client, err := p.clients.each.Client(r.ClientName)
	if err != nil {
		return nil, fmt.Errorf("client %q: %w", r.ClientName, err)
	}
	s := p.Settings
	return r.start(s)(ctx, deps{
		provider:  p.provider,
		client:    client,
		clients:   p.clients.each,
		informers: p.informers,
		gateway:   p.gateway.Load(),
		timeouts:  timeouts{s.Provider.ReadTimeout, s.Provider.ChangeTimeout},
		lease:     s.Election.Lease(),
		metrics:   p.metrics,
		recorder:  kube.NewRecorder(lasting, client, r.Source),
		newEvents: func() record.EventRecorder { return newRecorder(lasting, client, r.Source) },
	})
}

// runAll runs the controllers, each under its lease.
func (p *Process) runAll(ctx context.Context, made []started) {
	placed := map[election.Placement][]started{}
	for _, s := range made {
		placed[s.placement] = append(placed[s.placement], s)
	}
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		select {
		case err := <-p.gateway.Load().RestartNeeded():
			p.fail(err)
		case <-ctx.Done():
		}
	})
	all.Go(func() { p.runControllers(ctx, placed[election.UnderMainLease]) })
	if p.migration != nil {
		all.Go(func() { p.runMigrated(ctx, placed[election.UnderMigrationLease]) })
	}
}

// runMigrated runs controllers under the second lease.
func (p *Process) runMigrated(ctx context.Context, migrated []started) {
	p.migration.RunWithin(ctx, p.election, func(ctx context.Context) { p.runControllers(ctx, migrated) })
}

// runControllers returns once ctx has ended and all controllers have returned.
// It also waits for calls that change the cloud, even if no controller waits
// for them any more.
func (p *Process) runControllers(ctx context.Context, made []started) {
	defer p.gateway.Load().AwaitChanges()
	var all sync.WaitGroup
	defer all.Wait()
	controllermetrics.Register()
	var waiting []started
	for i, s := range made {
		if s.controller == nil {
			waiting = append(waiting, s)
			continue
		}
		if i > 0 && !sleep.For(ctx, p.Settings.Controllers.StartInterval()) {
			return
		}
		all.Go(func() { p.runController(ctx, s) })
	}
	p.awaitOffers(ctx, waiting, func(s started) { all.Go(func() { p.runController(ctx, s) }) })
}

func (p *Process) runController(ctx context.Context, s started) {
	metrics := controllermetrics.NewControllerManagerMetrics(settings.ManagerName)
	metrics.ControllerStarted(s.Alias)
	defer metrics.ControllerStopped(s.Alias)
	logger := klog.FromContext(ctx)
	logger.Info("Controller runs", "controller", s.Name)
	p.health.Add(s.Name, live(s.controller))
	defer p.memories.add(s)()
	err := s.controller.Run(klog.NewContext(ctx, klog.LoggerWithName(logger, s.Name)))
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		err = errors.New("no reason given")
	}
	p.fail(fmt.Errorf("controller %q ended: %w", s.Name, err))
}
