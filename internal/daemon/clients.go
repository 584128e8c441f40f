package daemon

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	c := clients{own: clientbuilder.SimpleControllerClientBuilder{ClientConfig: config}, lease: &atomic.Pointer[lease.Lease]{}}
	if !s.EachItsOwn {
		c.each = clientbuilder.SimpleControllerClientBuilder{ClientConfig: gated(rest.CopyConfig(config), c.lease)}
		return c, nil
	}
	// The issuer reads and creates the service accounts, and requests their tokens.
	issuer, err := kubernetes.NewForConfig(rest.AddUserAgent(rest.CopyConfig(config), settings.ManagerName))
	if err != nil {
		return clients{}, fmt.Errorf("client of the service accounts: %w", err)
	}
	c.each = clientbuilder.NewDynamicClientBuilder(gated(rest.AnonymousClientConfig(config), c.lease), issuer.CoreV1(), metav1.NamespaceSystem)
	return c, nil
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

// gated makes the changes of all clients with this configuration wait while another replica
// may lead (promise S7). Providers and the program's own controllers get their clients from
// upstream's builders with it, so their writes stop with ours. From 0.38 on, these builders
// are also a TypedClientBuilder, which the contract lets providers expect.
func gated(config *rest.Config, held *atomic.Pointer[lease.Lease]) *rest.Config {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return gate{next, held} })
	return config
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
