package app

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of requests and of the election
	"k8s.io/component-base/metrics/prometheus/slis"
	_ "k8s.io/component-base/metrics/prometheus/version" // kubernetes_build_info
	cmapp "k8s.io/controller-manager/app"
	"k8s.io/utils/clock"
)

// closeTimeout is how long a request may go on when the process ends.
const closeTimeout = time.Second

// serve serves HTTPS, unless it is turned off, until stop is called. It does
// not end with ctx: how the process drains can be watched.
func (p *process) serve(ctx context.Context) (stop func(), err error) {
	removeConfigz, err := p.options.registerConfigz()
	if err != nil {
		return nil, err
	}
	l, err := p.options.serving.listen()
	if err != nil || l == nil {
		return removeConfigz, err
	}
	p.health.certificates("certificates", p.options.serving.secure, l.secure)
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	handler := cmapp.BuildHandlerChain(p.handler(), &l.authorization, &l.authentication)
	stopped, _, err := l.secure.Serve(handler, closeTimeout, serving.Done())
	if err != nil {
		cancel()
		removeConfigz()
		return nil, fmt.Errorf("serving: %w", err)
	}
	return func() {
		cancel()
		<-stopped
		removeConfigz()
	}, nil
}

// serveWebhooks serves what the program adds, unless nothing is chosen, until
// stop is called.
func (p *process) serveWebhooks(ctx context.Context) (stop func(), err error) {
	info, err := p.options.webhooks.listen()
	if err != nil || info == nil {
		return func() {}, err
	}
	p.health.certificates("webhook-certificates", p.options.webhooks.secure, info)
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	handler := webhookHandler(p.options, newWebhookMetrics(p.registry.MustRegister), clock.RealClock{})
	stopped, _, err := info.Serve(handler, closeTimeout, serving.Done())
	if err != nil {
		cancel()
		return nil, fmt.Errorf("serving webhooks: %w", err)
	}
	return func() { cancel(); <-stopped }, nil
}

// handler answers those who have passed authentication and authorization.
func (p *process) handler() http.Handler {
	m := cmapp.NewBaseHandler(&p.options.debugging.DebuggingConfiguration, p.health.healthz)
	m.Unregister("/metrics")
	m.Handle("/metrics", metrics.HandlerFor(
		gatherers{p.registry, legacyregistry.DefaultGatherer},
		metrics.HandlerOpts{ProcessStartTime: legacyregistry.GetProcessStart()},
	))
	slis.SLIMetricsWithReset{}.Install(m)
	install(m, p.health.livez)
	install(m, p.health.readyz)
	return m
}

// install serves a probe with one path for each check, which says why a check
// fails and is not among the paths that everybody may read. /healthz has none,
// as upstream.
func install(m *mux.PathRecorderMux, p *probe) {
	m.Handle(p.path, p)
	m.HandlePrefix(p.path+"/", p)
}
