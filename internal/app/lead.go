package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	controllermetrics "k8s.io/component-base/metrics/prometheus/controllers"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// lead is what the process does under its lease. It returns when ctx has ended
// and all work is over; a failure before that ends the process.
func (p *process) lead(ctx context.Context) {
	if ctx.Err() != nil {
		return // The lease came with the signal to stop.
	}
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	p.provider = p.holder.take()
	if err := p.initialize(ctx); err != nil {
		p.fail(err)
		return
	}
	started, err := p.startControllers(ctx, lasting)
	if err != nil {
		p.fail(err)
		return
	}
	p.informers.StartWithContext(ctx)
	p.provider.informers.StartWithContext(ctx) // what the program's controllers have asked for
	p.runAll(ctx, started)
}

// cloudState is what this process has last seen of the cloud.
func (p *process) cloudState() string {
	if gateway := p.gateway.Load(); gateway != nil {
		return gateway.State()
	}
	return "is not asked before this replica leads"
}

// started is a controller that is made and does not work yet.
type started struct {
	registration
	controller controller
	placement  placement
}

// startControllers makes the enabled controllers. Their events are written
// until lasting ends, which is later than ctx.
func (p *process) startControllers(ctx, lasting context.Context) ([]started, error) {
	logger := klog.FromContext(ctx)
	var all []started
	for _, r := range p.options.controllers.enabled() {
		where := p.options.migration.place(r, p.options.controllers.known)
		if r.start == nil || where == elsewhere {
			logger.V(2).Info("Controller does not run here", "controller", r.name)
			continue
		}
		c, err := p.startController(ctx, lasting, r)
		var why skip
		var broken misconfigured
		switch {
		case errors.As(err, &why):
			logger.Info("Controller has nothing to do", "controller", r.name, "why", why)
		case errors.As(err, &broken) && !p.options.controllers.names(r.name):
			p.leaveOut(ctx, lasting, r, broken)
		case err != nil:
			return nil, fmt.Errorf("starting %q: %w", r.name, err)
		default:
			all = append(all, started{r, c, where})
		}
	}
	return all, nil
}

// leaveOut says everywhere that a controller does not run.
func (p *process) leaveOut(ctx, lasting context.Context, r registration, why misconfigured) {
	klog.FromContext(ctx).Error(why, "Controller does not run", "controller", r.name)
	p.metrics.misconfigured.WithLabelValues(r.name).Set(1)
	p.health.tell(note{r.name, func() string { return "does not run: " + why.Error() }})
	client, err := p.clients.each.Client(r.client)
	if err != nil {
		return // The error above says what matters.
	}
	kube.NewRecorder(lasting, client, r.source).Lease(p.options.election.lease(), corev1.EventTypeWarning, "ControllerMisconfigured",
		fmt.Sprintf("%s does not run: %v", r.name, why))
}

func (p *process) startController(ctx, lasting context.Context, r registration) (controller, error) {
	client, err := p.clients.each.Client(r.client)
	if err != nil {
		return nil, fmt.Errorf("client %q: %w", r.client, err)
	}
	return r.start(ctx, deps{
		provider:  p.provider,
		client:    client,
		clients:   p.clients.each,
		informers: p.informers,
		gateway:   p.gateway.Load(),
		metrics:   p.metrics,
		recorder:  kube.NewRecorder(lasting, client, r.source),
		newEvents: func() record.EventRecorder { return newRecorder(lasting, client, r.source) },
		options:   p.options,
	})
}

// runControllers returns when ctx has ended, all controllers have returned, and
// so have the changes that they no longer wait for.
func (p *process) runControllers(ctx context.Context, started []started) {
	defer p.gateway.Load().AwaitChanges()
	var all sync.WaitGroup
	defer all.Wait()
	controllermetrics.Register()
	for i, s := range started {
		if i > 0 && !pause(ctx, upToTwice(p.options.controllers.startInterval)) {
			return
		}
		all.Go(func() { p.runController(ctx, s) })
		p.health.add(s.name, s.controller)
	}
}

func (p *process) runController(ctx context.Context, s started) {
	metrics := controllermetrics.NewControllerManagerMetrics(managerName)
	metrics.ControllerStarted(s.alias)
	defer metrics.ControllerStopped(s.alias)
	logger := klog.FromContext(ctx)
	logger.Info("Controller runs", "controller", s.name)
	err := s.controller.Run(klog.NewContext(ctx, klog.LoggerWithName(logger, s.name)))
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		err = errors.New("no reason given")
	}
	p.fail(fmt.Errorf("controller %q ended: %w", s.name, err))
}

// pause says whether the time has passed before ctx ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
