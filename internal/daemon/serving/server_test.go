package serving

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/component-base/metrics"
	kubernetes "k8s.io/component-base/version"
	zpagesfeatures "k8s.io/component-base/zpages/features"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/daemon/provider"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
)

func listenLocally(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// insecureClient accepts any certificate.
func insecureClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // self-signed by the process itself
		DisableKeepAlives: true,
	}}
}

// parse gives the flags their values, and fails if they are wrong.
func parse(t *testing.T, s *settings.Settings, args ...string) {
	t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.AddFlags(flags)
	err := flags.Parse(append([]string{"--cloud-provider=test"}, args...))
	if errs := s.Validate(); err != nil || len(errs) != 0 {
		t.Fatal(err, errs)
	}
}

// config returns the configuration of a server with the flags.
func config(t *testing.T, args string) Config {
	t.Helper()
	s := settings.New(settings.Program{Name: settings.ManagerName})
	parse(t, s, strings.Fields(args)...)
	removeConfigz, err := s.RegisterConfigz()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(removeConfigz)
	return Config{
		Secure:         s.Serving.Secure,
		Authentication: s.Serving.Authentication,
		Authorization:  s.Serving.Authorization,
		Debugging:      &s.Debugging.DebuggingConfiguration,
		Component:      Component{Name: settings.ManagerName, Version: "v1.2.3", Flags: s.ShownFlags},
	}
}

// newTestHealth returns the health of a healthy process without an election.
func newTestHealth(t *testing.T) *Health {
	t.Helper()
	return NewHealth(Sources{
		Draining:     t.Context().Done(),
		APIServer:    reachable{},
		Informers:    informers.NewSharedInformerFactory(fake.NewClientset(), 0),
		Initializing: func() bool { return false },
	})
}

// registerAnew registers each metric in its own new registry.
func registerAnew(all ...metrics.Registerable) {
	for _, m := range all {
		metrics.NewKubeRegistry().MustRegister(m)
	}
}

// TestAnonymous sends requests without credentials over TLS. There is no API server
// that the server could ask.
func TestAnonymous(t *testing.T) {
	c := config(t, "")
	l := listenLocally(t)
	c.Secure.Listener = l
	stop, err := Serve(t.Context(), c, newTestHealth(t), metrics.NewKubeRegistry())
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
		"/flagz":             403,

		"/debug/fairlead/v1/objects/node/a": 403,
		"/":                                 403,
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
	c := config(t, "--secure-port=0")
	stop, err := Serve(t.Context(), c, newTestHealth(t), metrics.NewKubeRegistry())
	if err != nil {
		t.Fatal(err)
	}
	stop()
}

func TestPortInUseNamesTheFlag(t *testing.T) {
	l := listenLocally(t)
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c := config(t, "--bind-address=127.0.0.1 --secure-port="+port)
	const want = "serving: --secure-port: another process has this port; choose another one, or 0 to serve nothing: "
	if _, err := Serve(t.Context(), c, newTestHealth(t), metrics.NewKubeRegistry()); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
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
		{"Flags", "", "/flagz", 200},
		{"Status", "", "/statusz", 200},
		{"NothingElse", "", "/varz", 404},
		{"NoRoot", "", "/", 404},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := handler(config(t, tc.args), newTestHealth(t), metrics.NewKubeRegistry())
			if status, body := get(h, tc.path); status != tc.status {
				t.Errorf("got %d, want %d: %.200s", status, tc.status, body)
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	registry := metrics.NewKubeRegistry()
	provider.NewMetrics(registry.MustRegister)
	_, body := get(handler(config(t, ""), newTestHealth(t), Config{}.registries(registry)), "/metrics")
	for _, name := range []string{"fairlead_cloud_config_stale", "go_goroutines", "process_start_time_seconds", "kubernetes_build_info"} {
		if !strings.Contains(body, "\n"+name) {
			t.Errorf("no metric %s", name)
		}
	}
}

// asJSON requests a page as JSON, and returns it decoded.
func asJSON(t *testing.T, h http.Handler, path, kind string) map[string]any {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	request.Header.Set("Accept", "application/json;v=v1beta1;g=config.k8s.io;as="+kind)
	response := httptest.NewRecorder()
	h.ServeHTTP(response, request)
	var page map[string]any
	if err := json.Unmarshal(response.Body.Bytes(), &page); err != nil {
		t.Fatalf("%s answers %d: %s", path, response.Code, response.Body)
	}
	return page
}

func TestStatusz(t *testing.T) {
	for _, tc := range []struct{ name, version, want string }{
		{"VersionOfTheProgram", "v1.2.3", "1.2.3"},
		{"VersionOfTheLibraries", "", kubernetes.Get().GitVersion},
		{"ProgramWithoutANumber", "north", kubernetes.Get().GitVersion},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := config(t, "")
			c.Component.Version = tc.version
			page := asJSON(t, handler(c, newTestHealth(t), metrics.NewKubeRegistry()), "/statusz", "Statusz")
			got, _ := page["binaryVersion"].(string)
			if got == "" || !strings.HasPrefix(strings.TrimPrefix(tc.want, "v"), got) {
				t.Errorf("version %q, want %q", got, tc.want)
			}
			want := []any{"/configz", "/flagz", "/healthz", "/livez", "/metrics", "/readyz"}
			if diff := cmp.Diff(want, page["paths"]); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
			if _, emulates := page["emulationVersion"]; emulates {
				t.Errorf("a version that it emulates: %v", page)
			}
		})
	}
}

func TestFlagz(t *testing.T) {
	c := config(t, "--cluster-name=east")
	page := asJSON(t, handler(c, newTestHealth(t), metrics.NewKubeRegistry()), "/flagz", "Flagz")
	flags, _ := page["flags"].(map[string]any)
	if flags["cluster-name"] != "east" || flags["secure-port"] != "10258" {
		t.Errorf("flags: %v", page)
	}
}

// Feature gates can turn off the pages of Kubernetes. The gates belong to the
// process, so no test may run in parallel with this one.
func TestPagesCanBeTurnedOff(t *testing.T) {
	for path, gate := range map[string]featuregate.Feature{"/flagz": zpagesfeatures.ComponentFlagz, "/statusz": zpagesfeatures.ComponentStatusz} {
		t.Run(string(gate), func(t *testing.T) {
			featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, gate, false)
			if status, body := get(handler(config(t, ""), newTestHealth(t), metrics.NewKubeRegistry()), path); status != http.StatusNotFound {
				t.Errorf("got %d: %.200s", status, body)
			}
		})
	}
}

// What a caller can make a port keep is bounded.
func TestBoundsOfAPort(t *testing.T) {
	_, url := serving(t, "")
	for name, tc := range map[string]struct {
		header int
		want   int
	}{"LongToken": {headerLimit - 1000, http.StatusOK}, "LongHeader": {2 * headerLimit, http.StatusRequestHeaderFieldsTooLarge}} {
		t.Run(name, func(t *testing.T) {
			if got := status(t, insecureClient(), http.MethodGet, url+"/healthz", strings.Repeat("a", tc.header), nil); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
	for _, fields := range []int{headerFields - 4, headerFields + 1} { // The client adds some.
		t.Run(fmt.Sprint("Fields", fields), func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/healthz", nil)
			if err != nil {
				t.Fatal(err)
			}
			for n := range fields {
				request.Header.Set(fmt.Sprint("X-", n), "")
			}
			response, err := insecureClient().Do(request)
			if err == nil {
				err = response.Body.Close()
			}
			if (err == nil) != (fields <= headerFields) {
				t.Error(err)
			}
		})
	}
	t.Run("StreamsAndFrames", func(t *testing.T) {
		dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}}
		c, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "https://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if _, err := c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")); err != nil {
			t.Fatal(err)
		}
		settings := make([]byte, 100) // the first frame
		n, err := c.Read(settings)
		const maxStreams = "\x00\x03\x00\x00\x00"   // the first bytes of SETTINGS_MAX_CONCURRENT_STREAMS
		const maxFrame = "\x00\x05\x00\x00\x40\x00" // SETTINGS_MAX_FRAME_SIZE and minFrame
		if got := string(settings[:n]); err != nil || !strings.Contains(got, maxStreams+string(rune(streamsAtOnce))) || !strings.Contains(got, maxFrame) {
			t.Errorf("%v; the server says %q, want %d streams, and frames of %d bytes", err, got, streamsAtOnce, minFrame)
		}
	})
}

func TestLogOfAServerIsBounded(t *testing.T) {
	var log bytes.Buffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log)))
	to := &serverLog{logger: logger, few: newFew()}
	for n := range 300 {
		_, _ = fmt.Fprintf(to, "http: TLS handshake error from a: \x1b[2J%d\n", n)
		_, _ = fmt.Fprintf(to, "http2: server connection error: \x1b[2J%s\n", strings.Repeat("a", 5000))
	}
	if n := strings.Count(log.String(), "\n"); n < firstFailures || n > firstFailures+2 || log.Len() > n*(errorLimit+200) || strings.Contains(log.String(), "\x1b") {
		t.Errorf("%d lines, %d bytes: %.2000q", n, log.Len(), log.String())
	}
}

// A caller can make the error about its certificate as long as it likes.
func TestErrorsOfAuthenticationAreRarelyLogged(t *testing.T) {
	var log bytes.Buffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log)))
	a := newReviewed(authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		return nil, false, errors.New("\x1b[2J" + strings.Repeat("a", 6000))
	}), time.Minute, clock.RealClock{})
	for _, token := range []string{"", "Bearer "} {
		for n := range 300 {
			r := httptest.NewRequestWithContext(klog.NewContext(t.Context(), logger), http.MethodGet, "/metrics", nil)
			if token != "" {
				r.Header.Set("Authorization", token+strconv.Itoa(n))
			}
			if _, ok, err := a.AuthenticateRequest(r); ok || err != nil {
				t.Fatalf("%v, %v, want that the library logs nothing", ok, err)
			}
		}
	}
	if n := strings.Count(log.String(), "\n"); n < firstFailures || n > firstFailures+2 || log.Len() > n*(errorLimit+200) || strings.Contains(log.String(), "\x1b") {
		t.Errorf("%d lines, %d bytes: %.2000q", n, log.Len(), log.String())
	}
}

// The verification of a certificate takes CPU time, so an unknown one is rarely verified.
func TestUnknownCertificatesAreRarelyVerified(t *testing.T) {
	verified := 0
	a := newReviewed(authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		verified++
		if string(r.TLS.PeerCertificates[0].Raw) == "known" {
			return &authenticator.Response{}, true, nil
		}
		return nil, false, errors.New("unknown authority")
	}), time.Minute, clock.RealClock{})
	ask := func(certificate string) bool {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil)
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{Raw: []byte(certificate)}}}
		_, ok, _ := a.AuthenticateRequest(r)
		return ok
	}
	if !ask("known") {
		t.Fatal("a known certificate is refused")
	}
	for range 300 {
		ask("the same")
	}
	if verified != 2 {
		t.Errorf("%d verifications of one certificate that is refused, want 1", verified-1)
	}
	began := time.Now()
	for n := range 300 {
		ask(strconv.Itoa(n))
	}
	if most := unknownAtOnce + 1 + unknownPerSecond*(1+int(time.Since(began).Seconds())); verified > most {
		t.Errorf("%d verifications of unknown certificates, want at most %d", verified, most)
	}
	if !ask("known") {
		t.Error("a known certificate waits for unknown ones")
	}
}

// Each name of a certificate takes many times its size in memory, as long as the
// connection is open.
func TestLargeCertificatesAreRefused(t *testing.T) {
	dir := t.TempDir()
	newKeyPair(t, 1, nil).write(t, dir)
	_, port := serving(t, "--client-ca-file="+filepath.Join(dir, "tls.crt"))
	for _, tt := range []struct {
		name         string
		names, chain int // URIs in each certificate, and certificates
		want         bool
	}{
		{"LongestChain", 1, longestChain, true},
		{"LongerChain", 1, longestChain + 1, false},
		{"ManyNames", 3500, 1, true},
		{"MoreNames", 4100, 1, false},
		{"MoreNamesTogether", 2000, 2, false},
		{"MoreThanIsRead", 60_000, 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pair := newKeyPair(t, 2, func(c *x509.Certificate) { c.URIs = slices.Repeat([]*url.URL{{}}, tt.names) })
			own, err := tls.X509KeyPair(pair.cert, pair.key)
			if err != nil {
				t.Fatal(err)
			}
			own.Certificate = slices.Repeat(own.Certificate, tt.chain)
			client := insecureClient()
			client.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{own}
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, port+"/healthz", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.Do(request)
			if err == nil {
				_ = response.Body.Close()
			}
			if (err == nil) != tt.want {
				t.Errorf("%v", err)
			}
		})
	}
}

// A client offers many protocols, or presents a certificate of many names. If the server had
// parsed it, it would answer, if only with an alert.
func TestLargeHandshakesAreNotParsed(t *testing.T) {
	dir := t.TempDir()
	newKeyPair(t, 1, nil).write(t, dir)
	_, port := serving(t, "--client-ca-file="+filepath.Join(dir, "tls.crt"))
	pair := newKeyPair(t, 2, func(c *x509.Certificate) { c.URIs = slices.Repeat([]*url.URL{{}}, 25_000) })
	large, err := tls.X509KeyPair(pair.cert, pair.key)
	if err != nil {
		t.Fatal(err)
	}
	for name, client := range map[string]*tls.Config{
		"Protocols":   {NextProtos: append(slices.Repeat([]string{"a"}, 25_000), "http/1.1")},
		"Certificate": {Certificates: []tls.Certificate{large}},
	} {
		t.Run(name, func(t *testing.T) {
			client.InsecureSkipVerify = true // the server's certificate is self-signed
			dialer := net.Dialer{}
			plain, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(port, "https://"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = plain.Close() }()
			_ = plain.SetDeadline(time.Now().Add(headerTimeout / 2)) // After headerTimeout, each connection ends.
			_, err = tls.Client(plain, client).Read(make([]byte, 1))
			if err == nil || errors.Is(err, os.ErrDeadlineExceeded) || strings.Contains(err.Error(), "remote error") {
				t.Errorf("got %v, want the end of the connection", err)
			}
		})
	}
}

// The library logs an answer that could not be written.
func TestAnswerThatNobodyReadsIsNoError(t *testing.T) {
	w := quiet{failingWriter{httptest.NewRecorder()}}
	if n, err := w.Write([]byte("forbidden")); n != 9 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	w.Flush()
	if w.Unwrap() == nil {
		t.Error("the connection cannot be found")
	}
}

type failingWriter struct{ *httptest.ResponseRecorder }

func (failingWriter) Write([]byte) (int, error) { return 0, net.ErrClosed }
