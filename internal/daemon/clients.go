package daemon

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/controller-manager/pkg/clientbuilder"

	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	"github.com/fairlead-k8s/fairlead/internal/lease"
)

// informersName is the last part of the informers' user agent.
const informersName = "shared-informers"

// clients makes clients of the API server, each with its own user agent.
type clients struct {
	// own makes clients that act as this process, for example for leases and
	// informers.
	own clientbuilder.ControllerClientBuilder
	// each makes clients that act as this process by default. With
	// --use-service-account-credentials, each client acts as the service account
	// with the client's name.
	each clientbuilder.ControllerClientBuilder
	// lease is the lease for which the changes of each wait. Without an election it is
	// empty.
	lease *atomic.Pointer[lease.Lease]
}

func newClients(s settings.Client, config *rest.Config) (clients, error) {
	own := clientbuilder.SimpleControllerClientBuilder{ClientConfig: config}
	held := &atomic.Pointer[lease.Lease]{}
	if !s.EachItsOwn {
		return clients{own, gated{own, held}, held}, nil
	}
	// The issuer reads and creates the service accounts, and requests their tokens.
	issuer, err := kubernetes.NewForConfig(rest.AddUserAgent(rest.CopyConfig(config), settings.ManagerName))
	if err != nil {
		return clients{}, fmt.Errorf("client of the service accounts: %w", err)
	}
	each := clientbuilder.NewDynamicClientBuilder(rest.AnonymousClientConfig(config), issuer.CoreV1(), metav1.NamespaceSystem)
	return clients{own, gated{each, held}, held}, nil
}

// informers returns the client for informers.
func (c clients) informers() (kubernetes.Interface, error) {
	client, err := c.own.Client(informersName)
	if err != nil {
		return nil, fmt.Errorf("client of the informers: %w", err)
	}
	return client, nil
}

// newRecorder returns a recorder of events. The source of its events is the component.
// It records until ctx ends.
func newRecorder(ctx context.Context, client kubernetes.Interface, component string) record.EventRecorder {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	return broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component})
}

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
