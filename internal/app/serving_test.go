package app

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func listenLocally(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// insecureClient does not care who has signed a certificate.
func insecureClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // self-signed by the process itself
		DisableKeepAlives: true,
	}}
}

// TestAnonymous asks over TLS, without a server that could check a token.
func TestAnonymous(t *testing.T) {
	p, ctx := newTestProcess(t, &fakeCloud{}, nil)
	l := listenLocally(t)
	p.options.serving.secure.Listener = l
	stop, err := p.serve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	client := insecureClient()
	for path, want := range map[string]int{
		"/healthz":           200,
		"/livez":             200,
		"/readyz":            200,
		"/healthz/ping":      403,
		"/readyz/api-server": 403,
		"/metrics":           403,
		"/metrics/slis":      403,
		"/configz":           403,
		"/debug/pprof/":      403,
		"/debug/flags/v":     403,
		"/statusz":           403,
		"/":                  403,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+l.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%s: got %d, want %d", path, response.StatusCode, want)
		}
	}
}

func TestPortCanBeTurnedOff(t *testing.T) {
	p, ctx := newTestProcess(t, &fakeCloud{}, nil)
	p.options.serving.secure.BindPort = 0
	stop, err := p.serve(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stop()
}

func TestPaths(t *testing.T) {
	for _, tc := range []struct {
		name   string
		args   string
		path   string
		status int
	}{
		{"Healthz", "", "/healthz", 200},
		{"HealthzHasNoChecksBelow", "", "/healthz/ping", 404},
		{"Livez", "", "/livez", 200},
		{"Readyz", "", "/readyz", 200},
		{"ReadyzSaysWhy", "", "/readyz/api-server", 200},
		{"Metrics", "", "/metrics", 200},
		{"HealthMetrics", "", "/metrics/slis", 200},
		{"Configz", "", "/configz", 200},
		{"Profiles", "", "/debug/pprof/", 200},
		{"NoProfilesUnlessWanted", "--profiling=false", "/debug/pprof/", 404},
		{"NothingElse", "", "/statusz", 404},
		{"NoRoot", "", "/", 404},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, _ := newTestProcess(t, &fakeCloud{}, nil)
			p.options = parsed(t, tc.args)
			if status, body := get(p.handler(), tc.path); status != tc.status {
				t.Errorf("got %d, want %d: %.200s", status, tc.status, body)
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	p, _ := newTestProcess(t, &fakeCloud{}, nil)
	newControllerMetrics(p.registry.MustRegister, p.registry.CustomMustRegister)
	_, body := get(p.handler(), "/metrics")
	for _, name := range []string{"fairlead_cloud_config_stale", "go_goroutines", "process_start_time_seconds", "kubernetes_build_info"} {
		if !strings.Contains(body, "\n"+name) {
			t.Errorf("no metric %s", name)
		}
	}
}

func TestConfigz(t *testing.T) {
	o := parsed(t, "--cloud-provider=test --controllers=*,-cloud-node --concurrent-node-syncs=4 --kubeconfig=/etc/kubeconfig")
	remove, err := o.registerConfigz()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	p, _ := newTestProcess(t, &fakeCloud{}, nil)
	_, body := get(p.handler(), "/configz")
	want, err := os.ReadFile("testdata/configz.json")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := json.Indent(&got, []byte(body), "", "  "); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()+"\n"); diff != "" {
		t.Errorf("/configz (-want +got):\n%s", diff)
	}
}
