package daemon

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/controller-manager/pkg/clientbuilder"

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

// Each kind of client that the builder makes has the gate.
func TestEachClientHasTheGate(t *testing.T) {
	var asked atomic.Int32
	config := &rest.Config{Host: "http://a", Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		asked.Add(1)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
	})}
	var held atomic.Pointer[lease.Lease]
	held.Store(lease.New(time.Second))
	g := gated{clientbuilder.SimpleControllerClientBuilder{ClientConfig: config}, &held}
	for name, change := range map[string]func(context.Context) error{
		"Client": func(ctx context.Context) error {
			_, err := g.ClientOrDie("a").CoreV1().Nodes().Create(ctx, &corev1.Node{}, metav1.CreateOptions{})
			return err
		},
		"Config": func(ctx context.Context) error {
			client, err := rest.HTTPClientFor(g.ConfigOrDie("a"))
			if err != nil {
				return nil //nolint:nilerr // the test fails below
			}
			r, _ := http.NewRequestWithContext(ctx, http.MethodDelete, "http://a/api/v1/nodes/a", nil)
			_, err = client.Do(r) //nolint:bodyclose // there is none
			return err
		},
		"DiscoveryClient": func(ctx context.Context) error {
			return g.DiscoveryClientOrDie("a").RESTClient().Post().AbsPath("/api/v1/nodes").Do(ctx).Error()
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := change(ctx); !errors.Is(err, context.DeadlineExceeded) || asked.Load() > 0 {
				t.Errorf("%d requests reached the API server under an old lease: %v", asked.Load(), err)
			}
		})
	}
}
