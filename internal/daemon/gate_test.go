package daemon

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/controller-manager/pkg/clientbuilder"

	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
	"github.com/fairlead-k8s/fairlead/internal/lease"
)

// A client of a provider changes nothing while another replica may lead.
func TestChangesOfProvidersWaitForTheLease(t *testing.T) {
	const nodes = "/api/v1/nodes"
	for _, tt := range []struct {
		method, path string
		waits        bool
	}{
		{http.MethodGet, nodes, false},
		{http.MethodHead, nodes, false},
		{http.MethodPost, nodes, true},
		{http.MethodPut, nodes + "/a", true},
		{http.MethodPatch, nodes + "/a", true},
		{http.MethodDelete, nodes + "/a", true},
		{http.MethodPost, "/prefix/apis/authorization.k8s.io/v1/subjectaccessreviews", false},
		{http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", false},
		{http.MethodPost, "/api/v1/namespaces/a/serviceaccounts/b/token", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			held := lease.New(10 * time.Second)
			var passed atomic.Bool
			var shared atomic.Pointer[lease.Lease]
			client := http.Client{Transport: gate{roundTripper(func(*http.Request) (*http.Response, error) {
				passed.Store(true)
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
			}), &shared}}
			request := func(ctx context.Context) error {
				r, err := http.NewRequestWithContext(ctx, tt.method, "http://a"+tt.path, strings.NewReader("{}"))
				if err != nil {
					t.Fatal(err)
				}
				response, err := client.Do(r)
				if err == nil {
					_ = response.Body.Close()
				}
				return err
			}
			if err := request(t.Context()); err != nil || !passed.Load() {
				t.Errorf("%s %s without an election: passed %v, %v", tt.method, tt.path, passed.Load(), err)
			}
			shared.Store(held)
			passed.Store(false)
			go func() { _ = request(t.Context()) }()
			time.Sleep(time.Minute)
			if passed.Load() == tt.waits {
				t.Errorf("%s %s under an old lease: passed is %v", tt.method, tt.path, passed.Load())
			}
			held.Ask()()
			synctest.Wait()
			if !passed.Load() {
				t.Errorf("%s %s does not pass after the renewal", tt.method, tt.path)
			}
			time.Sleep(time.Minute)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := request(ctx); errors.Is(err, context.DeadlineExceeded) != tt.waits {
				t.Errorf("%s %s whose context ends: %v", tt.method, tt.path, err)
			}
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Each kind of client that providers get has the gate.
func TestEachClientHasTheGate(t *testing.T) {
	const name = "route-controller"
	for kind, change := range map[string]func(context.Context, clientbuilder.ControllerClientBuilder) error{
		"Client": func(ctx context.Context, b clientbuilder.ControllerClientBuilder) error {
			return b.ClientOrDie(name).CoreV1().Nodes().Delete(ctx, "a", metav1.DeleteOptions{})
		},
		"Config": func(ctx context.Context, b clientbuilder.ControllerClientBuilder) error {
			return kubernetes.NewForConfigOrDie(b.ConfigOrDie(name)).CoreV1().Nodes().Delete(ctx, "a", metav1.DeleteOptions{})
		},
		"DiscoveryClient": func(ctx context.Context, b clientbuilder.ControllerClientBuilder) error {
			return b.DiscoveryClientOrDie(name).RESTClient().Delete().AbsPath("/api/v1/nodes/a").Do(ctx).Error()
		},
	} {
		t.Run(kind, func(t *testing.T) { testGate(t, change) })
	}
}

// testGate tests that a change with a client of the builder waits for the lease, whoever the
// client acts as.
func testGate(t *testing.T, change func(context.Context, clientbuilder.ControllerClientBuilder) error) {
	for name, eachItsOwn := range map[string]bool{"AsTheProcess": false, "AsTheirServiceAccounts": true} {
		t.Run(name, func(t *testing.T) {
			api := &accounts{}
			server := httptest.NewServer(api)
			defer server.Close()
			made, err := newClients(settings.Client{EachItsOwn: eachItsOwn}, &rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			made.lease.Store(lease.New(time.Second))
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			err = change(ctx, made.each)
			isChange := func(call string) bool { return strings.HasPrefix(call, http.MethodDelete) }
			if !errors.Is(err, context.DeadlineExceeded) || slices.ContainsFunc(api.calls, isChange) {
				t.Errorf("requests under an old lease: %v, error %v", api.calls, err)
			}
			made.lease.Store(nil)
			if err := change(t.Context(), made.each); err != nil || !slices.ContainsFunc(api.calls, isChange) {
				t.Errorf("requests without an election: %v, error %v", api.calls, err)
			}
		})
	}
}
