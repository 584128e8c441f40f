package serving

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
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

// Health answers the probes.
type Health struct {
	healthz *probe // as with upstream: shows whether the lease is renewed, and which controllers run
	livez   *probe // fails if a restart could help
	readyz  *probe // succeeds if this replica leads or could lead now
}

// Sources has the values that the probes depend on.
type Sources struct {
	Draining     <-chan struct{}         // closed when the process is stopping
	Leases       []healthz.HealthChecker // the answers show them in this order
	Contending   func() bool             // reports whether this replica leads or stands by; nil without an election
	APIServer    healthz.HealthChecker
	Informers    informers.SharedInformerFactory
	Initializing func() bool // reports whether the provider is being initialised
	Notes        []Note
}

// Note is a sentence that /livez and /readyz show with ?verbose. A note never makes
// them fail. Everyone may read it, so it must not contain secrets.
type Note struct {
	About string
	Text  func() string
}

// NewHealth returns the health of a process without controllers.
func NewHealth(s Sources) *Health {
	ready := []healthz.HealthChecker{
		healthz.NewShutdownHealthz(s.Draining),
		s.APIServer,
		healthz.NewInformerSyncHealthz(s.Informers),
		healthz.NamedCheck("cloud-provider", func(*http.Request) error {
			if s.Initializing() {
				return errors.New("the provider is still being initialised")
			}
			return nil
		}),
	}
	if s.Contending == nil {
		return &Health{newProbe("/healthz", nil), newProbe("/livez", s.Notes), newProbe("/readyz", s.Notes, ready...)}
	}
	ready = append(ready, healthz.NamedCheck("leader-or-standby", func(*http.Request) error {
		if !s.Contending() {
			return errors.New("the lease has not been read yet")
		}
		return nil
	}))
	return &Health{
		healthz: newProbe("/healthz", nil, s.Leases...),
		livez:   newProbe("/livez", s.Notes, s.Leases...),
		readyz:  newProbe("/readyz", s.Notes, ready...),
	}
}

// Add adds a controller that runs now. The function live returns an error if the
// process must be restarted. It may be nil.
func (h *Health) Add(name string, live func() error) {
	h.healthz.add(healthz.NamedCheck(name, healthz.PingHealthz.Check))
	if live != nil {
		h.livez.add(healthz.NamedCheck(name, func(*http.Request) error { return live() }))
	}
}

// Show adds a note to the answers.
func (h *Health) Show(n Note) {
	h.livez.show(n)
	h.readyz.show(n)
}

// ServeHTTP answers requests to the paths of the probes.
func (h *Health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, p := range []*probe{h.healthz, h.livez, h.readyz} {
		if r.URL.Path == p.path || strings.HasPrefix(r.URL.Path, p.path+"/") {
			p.ServeHTTP(w, r)
			return
		}
	}
	http.NotFound(w, r)
}

// probe answers requests to one path. Below that path, each check has its own path.
// Checks can be added while the probe serves.
type probe struct {
	path    string
	handler atomic.Pointer[mux.PathRecorderMux]

	mu     sync.Mutex
	notes  []Note                  // guarded by mu
	checks []healthz.HealthChecker // guarded by mu
}

func newProbe(path string, notes []Note, checks ...healthz.HealthChecker) *probe {
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

func (p *probe) show(n Note) {
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
		_, _ = fmt.Fprintf(w, "[i]%s: %s\n", n.About, n.Text()) // fails only if the client has gone
	}
}

const (
	apiServerTimeout  = 3 * time.Second
	apiServerInterval = 2 * time.Second
)

// apiServerCheck asks the API server for its health. It asks at most once in each
// interval, because anyone can send requests to this process.
type apiServerCheck struct {
	client rest.Interface
	clock  clock.PassiveClock

	mu     sync.Mutex
	asked  time.Time // guarded by mu
	answer error     // guarded by mu
}

// NewAPIServerCheck returns a check that succeeds if the API server can be reached
// and is healthy.
func NewAPIServerCheck(client rest.Interface, c clock.PassiveClock) healthz.HealthChecker {
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
	// If the request is forbidden, the API server can be reached.
	if err != nil && !apierrors.IsForbidden(err) {
		return fmt.Errorf("API server: %w", err)
	}
	return nil
}
