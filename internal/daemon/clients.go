package daemon

import (
	"context"
	"fmt"
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
