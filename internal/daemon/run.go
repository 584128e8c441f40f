package daemon

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/daemon/election"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider"
	"github.com/fairlead-k8s/fairlead/internal/daemon/serving"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// Run runs the program, whose flags are valid. If ctx has ended, and all work has
// returned, it returns nil. A trial, which only tests a configuration, ends once the
// provider has been made.
func (p *Program) Run(ctx context.Context) (err error) {
	working, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	defer func() { p.stopped(ctx, err) }()
	made, err := NewProcess(working, p)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	defer made.Drop()
	if p.Self.Tries() {
		return nil // A trial only makes the provider.
	}
	made.fail = fail
	err = made.run(working)
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

// run serves, takes part in the election, and leads if this replica wins. With
// --shadow, it does not take part in the election, and only decides and reports. It
// returns after an error, or once ctx has ended and all work has returned.
func (p *Process) run(ctx context.Context) (err error) {
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
	stop := func(stops func()) {
		if !errors.Is(err, election.ErrLeaseLost) { // Another replica may lead, so nothing delays the end of the process.
			stops()
		}
	}
	stopServing, err := p.serve(ctx)
	if err != nil {
		return err
	}
	defer func() { stop(stopServing) }()
	stopWebhooks, err := p.serveWebhooks(ctx)
	if err != nil {
		return err
	}
	defer func() { stop(stopWebhooks) }()
	stopWatch := p.watch(ctx, kube.NewRecorder(lasting, client, settings.ManagerName))
	defer func() { stop(stopWatch) }()
	switch {
	case p.looks != nil:
		return election.Hold(ctx, nil, func(ctx context.Context) { p.looks.Look(ctx, p) })
	case p.election == nil:
		return election.Hold(ctx, nil, p.lead)
	}
	return p.election.Run(ctx, p.lead)
}

// register joins the elections that the flags ask for.
func (p *Process) register(recorder record.EventRecorder) (err error) {
	config := p.Settings.Election.LeaderElectionConfiguration
	if !config.LeaderElect {
		return nil
	}
	if p.election, err = election.Join(config, p.config, recorder); err != nil {
		return err
	}
	outlives := election.Recovery{Timeout: p.Settings.Election.RecoveryTimeout, Changing: p.changing}
	p.election.Recover(outlives)
	p.clients.lease.Store(p.election.Lease())
	if plan := p.Settings.Migration.Plan(); plan != nil {
		config.ResourceName = plan.LeaderName
		if p.migration, err = election.Join(config, p.config, recorder); err == nil {
			p.migration.Recover(outlives)
		}
	}
	return err
}

// changing reports whether a change of the cloud may be in flight.
func (p *Process) changing() bool {
	gateway := p.gateway.Load()
	return p.initializing.Load() || gateway != nil && gateway.Changing()
}

// sources returns the values that the probes depend on.
func (p *Process) sources(ctx context.Context, client kubernetes.Interface) serving.Sources {
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
	if p.rotation != nil && len(p.Settings.Rotation.Watched()) > 0 {
		s.Notes = append(s.Notes, serving.Note{About: "cloud-config", Text: p.rotation.State})
	}
	return s
}

// serve starts to serve HTTPS. It serves until stop is called.
func (p *Process) serve(ctx context.Context) (stop func(), err error) {
	removeConfigz, err := p.Settings.RegisterConfigz()
	if err != nil {
		return nil, err
	}
	s := &p.Settings.Serving
	var theirs []metrics.Gatherer
	for _, g := range p.Options.Metrics {
		theirs = append(theirs, g)
	}
	stopServing, err := serving.Serve(ctx, serving.Config{
		Secure:         s.Secure,
		Authentication: s.Authentication,
		Authorization:  s.Authorization,
		Debugging:      &p.Settings.Debugging.DebuggingConfiguration,
		Component:      serving.Component{Name: settings.ManagerName, Version: p.Options.Version, Flags: p.Settings.ShownFlags},
		Metrics:        theirs,
		Objects:        p.memories.of,
	}, p.health, p.Registry)
	if err != nil {
		removeConfigz()
		return nil, err
	}
	return func() { stopServing(); removeConfigz() }, nil
}

// serveWebhooks starts to serve the webhooks. It serves them until stop is called.
func (p *Process) serveWebhooks(ctx context.Context) (stop func(), err error) {
	if p.looks != nil {
		return func() {}, nil // The API server calls the webhooks of the present manager.
	}
	return serving.ServeWebhooks(ctx, serving.WebhookConfig{
		Secure:   p.Settings.Webhooks.Secure,
		ClientCA: p.Settings.Webhooks.ClientCA,
		Webhooks: p.webhooks(),
	}, p.health, p.Registry.MustRegister)
}

// watch begins to watch the provider's files. It watches them until ctx ends or stop
// is called.
func (p *Process) watch(ctx context.Context, recorder *kube.Recorder) (stop func()) {
	if p.rotation == nil {
		return func() {}
	}
	reports := provider.Reports{
		Event: func(e message.Event) {
			if p.looks == nil {
				recorder.Lease(p.Settings.Election.Lease(), e.Type, e.Reason, e.Message)
			}
		},
		Fail: p.fail,
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.rotation.Run(ctx, p.Settings.Rotation.Period(), reports)
	}()
	return func() { cancel(); <-ended }
}
