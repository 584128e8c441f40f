// Package clusterview describes the cluster for the page of the simulated cloud: Nodes and Services
// with their conditions, deletions that wait, and the latest events of the
// cloud-controller-manager. It shows the texts that the cloud-controller-manager has written into
// the cluster. The package only reads from the cluster.
package clusterview

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

const (
	// fresh is the time for which an answer is reused, so that several browsers cause
	// no more requests than one.
	fresh = 500 * time.Millisecond
	// timeout is the time that the API server has to answer.
	timeout = 5 * time.Second
	// most is the maximum number of Nodes and of Services that are read.
	most = 500

	leaseNamespace, leaseName = metav1.NamespaceSystem, "cloud-controller-manager"
)

// Server answers GET / with a View as JSON. It answers programs on this machine only.
type Server struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	client kubernetes.Interface // guarded by mu; nil before the cluster works
	last   View                 // guarded by mu
}

// New returns a server for a cluster that is not ready yet. Until Show is
// called, the server answers with an error.
func New(clock clock.PassiveClock) *Server { return &Server{clock: clock} }

// Show makes the server describe the cluster of the client.
func (s *Server) Show(client kubernetes.Interface) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = client
}

// Serve serves on the listener until ctx ends.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: timeout, WriteTimeout: 3 * timeout}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !isLocal(r):
		http.Error(w, "only programs on this machine are answered, at a loopback address", http.StatusForbidden)
		return
	case r.Method != http.MethodGet || r.URL.Path != "/":
		http.Error(w, "there is only GET /", http.StatusNotFound)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	v, err := s.view(ctx)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(v) // an error means that the caller has gone away
}

// isLocal reports whether a request was sent to a loopback address by a program other than a
// browser. Without this check, a website could read the description through a browser on this
// machine, for example after pointing its own host name at this machine.
func isLocal(r *http.Request) bool {
	at, err := netip.ParseAddrPort(r.Host)
	return err == nil && at.Addr().IsLoopback() && r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == ""
}

// view returns the last view while it is fresh, and otherwise a new view.
func (s *Server) view(ctx context.Context) (View, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		return View{}, errors.New("the control plane is not ready yet")
	}
	if s.clock.Since(s.last.Time) < fresh {
		return s.last, nil
	}
	o, err := s.observe(ctx)
	if err != nil {
		return View{}, err
	}
	s.last = describe(o)
	return s.last, nil
}

// observe reads the data for a view from the cluster.
func (s *Server) observe(ctx context.Context) (observed, error) {
	some := metav1.ListOptions{Limit: most}
	nodes, err := s.client.CoreV1().Nodes().List(ctx, some)
	if err != nil {
		return observed{}, err
	}
	services, err := s.client.CoreV1().Services(metav1.NamespaceAll).List(ctx, some)
	if err != nil {
		return observed{}, err
	}
	events, err := s.client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return observed{}, err
	}
	lease, err := s.client.CoordinationV1().Leases(leaseNamespace).Get(ctx, leaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		lease, err = nil, nil
	}
	return observed{nodes: nodes.Items, services: services.Items, events: events.Items, lease: lease, now: s.clock.Now()}, err
}
