package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// health is what the process answers to those who ask how it is.
type health struct {
	healthz *probe // as upstream: the lease is renewed, and what runs
	livez   *probe // a restart would help
	readyz  *probe // could lead now, or leads
}

// healthSources are the parts of the process that are asked.
type healthSources struct {
	draining     <-chan struct{} // closed when the process stops
	election     *election       // nil: no election
	migration    *election       // for the second lease, may be nil
	apiServer    healthz.HealthChecker
	informers    informers.SharedInformerFactory
	initializing func() bool
	notes        []note
}

// note is what /livez and /readyz tell of with ?verbose, and never fail for.
// Everybody may read it.
type note struct {
	about string
	text  func() string
}

func newHealth(s healthSources) *health {
	ready := []healthz.HealthChecker{
		healthz.NewShutdownHealthz(s.draining),
		s.apiServer,
		healthz.NewInformerSyncHealthz(s.informers),
		healthz.NamedCheck("cloud-provider", func(*http.Request) error {
			if s.initializing() {
				return errors.New("the provider is still being initialised")
			}
			return nil
		}),
	}
	if s.election == nil {
		return &health{newProbe("/healthz", nil), newProbe("/livez", s.notes), newProbe("/readyz", s.notes, ready...)}
	}
	ready = append(ready, healthz.NamedCheck("leader-or-standby", func(*http.Request) error {
		if !s.election.contending() {
			return errors.New("the lease has not been read yet")
		}
		return nil
	}))
	leases := []healthz.HealthChecker{s.election.watchdog}
	if s.migration != nil {
		leases = append(leases, healthz.NamedCheck("leaderElectionMigration", s.migration.watchdog.Check))
	}
	return &health{
		healthz: newProbe("/healthz", nil, leases...),
		livez:   newProbe("/livez", s.notes, leases...),
		readyz:  newProbe("/readyz", s.notes, ready...),
	}
}

// add makes the answers speak of a controller that runs now.
func (h *health) add(name string, c controller) {
	h.healthz.add(healthz.NamedCheck(name, healthz.PingHealthz.Check))
	if l, ok := c.(liveness); ok {
		h.livez.add(healthz.NamedCheck(name, func(*http.Request) error { return l.Live() }))
	}
}

// tell makes the answers tell of something that fails nothing.
func (h *health) tell(n note) {
	h.livez.tell(n)
	h.readyz.tell(n)
}

// probe answers on one path, and on one below it for each check. Checks may be
// added while it serves.
type probe struct {
	path    string
	handler atomic.Pointer[mux.PathRecorderMux]

	mu     sync.Mutex
	notes  []note                  // guarded by mu
	checks []healthz.HealthChecker // guarded by mu
}

func newProbe(path string, notes []note, checks ...healthz.HealthChecker) *probe {
	p := &probe{path: path, notes: notes}
	p.add(checks...)
	return p
}

func (p *probe) add(checks ...healthz.HealthChecker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.checks = append(p.checks, checks...)
	handler := mux.NewPathRecorderMux(p.path)
	healthz.InstallPathHandler(handler, p.path, p.checks...)
	p.handler.Store(handler)
}

func (p *probe) tell(n note) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notes = append(slices.Clone(p.notes), n)
}

func (p *probe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.handler.Load().ServeHTTP(w, r)
	if r.URL.Path != p.path || !r.URL.Query().Has("verbose") {
		return
	}
	p.mu.Lock()
	notes := p.notes
	p.mu.Unlock()
	for _, n := range notes {
		_, _ = fmt.Fprintf(w, "[i]%s: %s\n", n.about, n.text()) // who asked has gone if it fails
	}
}

const (
	apiServerTimeout  = 3 * time.Second
	apiServerInterval = 2 * time.Second
)

// apiServerCheck asks the API server for its health, at most once in an
// interval however often it is asked itself: anyone may ask.
type apiServerCheck struct {
	client rest.Interface
	clock  clock.PassiveClock

	mu     sync.Mutex
	asked  time.Time // guarded by mu
	answer error     // guarded by mu
}

func newAPIServerCheck(client rest.Interface, c clock.PassiveClock) *apiServerCheck {
	return &apiServerCheck{client: client, clock: c}
}

func (*apiServerCheck) Name() string { return "api-server" }

func (a *apiServerCheck) Check(r *http.Request) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.asked.IsZero() || a.clock.Since(a.asked) >= apiServerInterval {
		a.answer = a.ask(context.WithoutCancel(r.Context()))
		a.asked = a.clock.Now()
	}
	return a.answer
}

func (a *apiServerCheck) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiServerTimeout)
	defer cancel()
	err := a.client.Get().AbsPath("/healthz").Do(ctx).Error()
	// Who is told that it may not ask has reached the API server.
	if err != nil && !apierrors.IsForbidden(err) {
		return fmt.Errorf("API server: %w", err)
	}
	return nil
}
