package daemon

import (
	"net/http"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/controller-manager/pkg/clientbuilder"

	"github.com/fairlead-k8s/fairlead/internal/lease"
)

// gated makes clients whose changes wait while another replica may lead (promise S7).
// Providers and the program's own controllers get their clients from it, so their
// writes stop with ours.
type gated struct {
	clientbuilder.ControllerClientBuilder

	lease *atomic.Pointer[lease.Lease]
}

// Config implements clientbuilder.ControllerClientBuilder, as the other methods do.
func (g gated) Config(name string) (*rest.Config, error) {
	config, err := g.ControllerClientBuilder.Config(name)
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return gate{next, g.lease} })
	return config, nil
}

// ConfigOrDie panics if there is no configuration. If a provider is the caller, that ends
// the process with a message about the provider.
func (g gated) ConfigOrDie(name string) *rest.Config { return orPanic(g.Config(name)) }

// Client returns a client with this name.
func (g gated) Client(name string) (kubernetes.Interface, error) {
	config, err := g.Config(name)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// ClientOrDie panics if there is no client.
func (g gated) ClientOrDie(name string) kubernetes.Interface { return orPanic(g.Client(name)) }

// DiscoveryClient returns a client that finds out what the API server offers.
func (g gated) DiscoveryClient(name string) (discovery.DiscoveryInterface, error) {
	config, err := g.Config(name)
	if err != nil {
		return nil, err
	}
	return clientbuilder.SimpleControllerClientBuilder{ClientConfig: config}.DiscoveryClient(name)
}

// DiscoveryClientOrDie panics if there is no client.
func (g gated) DiscoveryClientOrDie(name string) discovery.DiscoveryInterface {
	return orPanic(g.DiscoveryClient(name))
}

func orPanic[T any](made T, err error) T {
	if err != nil {
		panic(err)
	}
	return made
}

// gate lets a change pass only while this replica leads for sure. It ends with the
// request's context.
type gate struct {
	next  http.RoundTripper
	lease *atomic.Pointer[lease.Lease]
}

// RoundTrip implements http.RoundTripper.
func (g gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if held := g.lease.Load(); held != nil && isChange(r) {
		if err := lease.Await(lease.NewContext(r.Context(), held)); err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // as every RoundTripper has to do
			}
			return nil, err
		}
	}
	return g.next.RoundTrip(r)
}

// WrappedRoundTripper lets client-go find the transport behind the gate.
func (g gate) WrappedRoundTripper() http.RoundTripper { return g.next }

// isChange reports whether a request changes an object. Reviews and requests for tokens
// change nothing.
func isChange(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	path := r.URL.Path
	return !strings.Contains(path, "/apis/authentication.k8s.io/") && !strings.Contains(path, "/apis/authorization.k8s.io/") && !strings.HasSuffix(path, "/token")
}
