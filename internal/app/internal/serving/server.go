package serving

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/mux"
	apiserveroptions "k8s.io/apiserver/pkg/server/options"
	componentbaseconfig "k8s.io/component-base/config"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of requests and of the election
	"k8s.io/component-base/metrics/prometheus/slis"
	_ "k8s.io/component-base/metrics/prometheus/version" // kubernetes_build_info
	cmapp "k8s.io/controller-manager/app"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// closeTimeout is the time that open requests get when the process ends.
const closeTimeout = time.Second

// Config is the configuration of the HTTPS server.
type Config struct {
	Secure         *apiserveroptions.SecureServingOptions
	Authentication *apiserveroptions.DelegatingAuthenticationOptions
	Authorization  *apiserveroptions.DelegatingAuthorizationOptions
	Debugging      *componentbaseconfig.DebuggingConfiguration
	Component      Component
	// Metrics has the registries of the program's own metrics.
	Metrics []metrics.Gatherer
	// Objects returns what the controllers remember about an object. If it is nil, the
	// server has no page for that.
	Objects Objects
}

// registries returns the registries that /metrics serves. If two metrics have the
// same name, ours is served.
func (c Config) registries(ours metrics.Gatherer) gatherers {
	all := gatherers{ours, legacyregistry.DefaultGatherer}
	for _, g := range c.Metrics {
		all = append(all, foreign{g})
	}
	return all
}

// Serve starts to serve HTTPS, unless serving is turned off. The server runs until
// stop is called. It does not end with ctx, so that the process can be observed
// while it waits for its last work.
func Serve(ctx context.Context, c Config, h *Health, registry metrics.Gatherer) (stop func(), err error) {
	l, err := c.listen()
	if err != nil || l == nil {
		return func() {}, err
	}
	h.certificates("certificates", c.Secure, l.secure)
	handler := cmapp.BuildHandlerChain(handler(c, h, c.registries(registry)), &l.authorization, &l.authentication)
	stop, err = serve(ctx, l.secure, handler)
	if err != nil {
		return nil, fmt.Errorf("serving: %w", err)
	}
	return stop, nil
}

func serve(ctx context.Context, s *server.SecureServingInfo, h http.Handler) (stop func(), err error) {
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stopped, _, err := s.Serve(h, closeTimeout, serving.Done())
	if err != nil {
		cancel()
		return nil, err
	}
	return func() { cancel(); <-stopped }, nil
}

// listen binds the port, with a certificate from files or a self-signed one.
// It returns nil for port 0.
func listen(o *apiserveroptions.SecureServingOptions) (info *server.SecureServingInfo, err error) {
	if err := o.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, fmt.Errorf("self-signed certificate: %w", err)
	}
	if err := o.ApplyTo(&info); err != nil || info == nil {
		return nil, err
	}
	info.Listener = newBounded(info.Listener, connectionsAtOnce)
	return info, nil
}

// portInUse adds the flag to an error if the error says that another process has the
// port. It returns other errors unchanged.
func portInUse(flag string, err error) error {
	if !strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) { // The library does not wrap EADDRINUSE.
		return err
	}
	return fmt.Errorf("%s: another process has this port; choose another one, or 0 to serve nothing: %w", flag, err)
}

// listener is a server that is ready to serve: the port is bound, and requests
// can be authenticated and authorized.
type listener struct {
	secure         *server.SecureServingInfo
	authentication server.AuthenticationInfo
	authorization  server.AuthorizationInfo
}

// listen binds the port. It returns nil when serving is turned off.
func (c Config) listen() (*listener, error) {
	secure, err := listen(c.Secure)
	if err != nil {
		return nil, fmt.Errorf("serving: %w", portInUse("--secure-port", err))
	}
	if secure == nil {
		return nil, nil
	}
	l := &listener{secure: secure}
	if err := c.Authentication.ApplyTo(&l.authentication, l.secure, nil); err != nil {
		return nil, fmt.Errorf("authentication of requests: %w", err)
	}
	l.authentication.Authenticator = newReviewed(l.authentication.Authenticator, c.Authentication.CacheTTL, clock.RealClock{})
	if err := c.Authorization.ApplyTo(&l.authorization); err != nil {
		return nil, fmt.Errorf("authorization of requests: %w", err)
	}
	l.authorization.Authorizer, err = newAuthorized(l.authorization.Authorizer, c.Authorization, clock.RealClock{})
	if err != nil {
		return nil, fmt.Errorf("authorization of requests: %w", err)
	}
	return l, nil
}

// handler answers requests that have passed authentication and authorization.
func handler(c Config, h *Health, registry metrics.Gatherer) http.Handler {
	m := cmapp.NewBaseHandler(c.Debugging, h.healthz)
	m.Unregister("/metrics")
	m.Handle("/metrics", metrics.HandlerFor(registry, metrics.HandlerOpts{ProcessStartTime: legacyregistry.GetProcessStart()}))
	slis.SLIMetricsWithReset{}.Install(m)
	install(m, h.livez)
	install(m, h.readyz)
	if c.Objects != nil {
		m.HandlePrefix(step.MemoryPath, newObjectsHandler(c.Objects, c.Component.Version))
	}
	c.Component.install(m)
	return m
}

// install adds the path of a probe, and a path below it for each check. The path of
// a check says why the check fails. By default, these paths need authorization. As
// with upstream, /healthz has no paths for checks.
func install(m *mux.PathRecorderMux, p *probe) {
	m.Handle(p.path, p)
	m.HandlePrefix(p.path+"/", p)
}
