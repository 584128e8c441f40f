package serving

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/component-base/metrics"

	"github.com/fairlead-k8s/fairlead/internal/daemon/mounttest"
)

// authority starts an API server that knows two tokens, "reader" and "other". The
// reader may read all paths. authority returns a kubeconfig file for that API
// server.
func authority(t *testing.T) (kubeconfig string) {
	t.Helper()
	kubeconfig, _ = countingAuthority(t)
	return kubeconfig
}

// counts has the numbers of review requests to an API server.
type counts struct{ tokens, rights atomic.Int64 }

// countingAuthority does the same as authority. It also counts the reviews of tokens
// and of rights.
func countingAuthority(t *testing.T) (kubeconfig string, asked *counts) {
	t.Helper()
	asked = new(counts)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/apis/authentication.k8s.io/v1/tokenreviews":
			var review authenticationv1.TokenReview
			_ = json.NewDecoder(r.Body).Decode(&review)
			asked.tokens.Add(1)
			name := review.Spec.Token
			review.Status.Authenticated = name == "reader" || name == "other"
			review.Status.User.Username = name
			if !review.Status.Authenticated {
				review.Status.Error = "[invalid bearer token, Token has been invalidated]" // as the API server answers
			}
			_ = json.NewEncoder(w).Encode(review)
		case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
			asked.rights.Add(1)
			var review authorizationv1.SubjectAccessReview
			_ = json.NewDecoder(r.Body).Decode(&review)
			review.Status.Allowed = review.Spec.User == "reader" && review.Spec.NonResourceAttributes != nil
			_ = json.NewEncoder(w).Encode(review)
		default:
			http.NotFound(w, r) // the ConfigMap with the cluster's CAs
		}
	}))
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","contexts":[{"name":"c","context":{"cluster":"c"}}],"clusters":[{"name":"c","cluster":{"server":%q}}]}`, server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig, asked
}

// serving starts a server with the given flags, and returns its health and its URL.
func serving(t *testing.T, args string) (*Health, string) {
	t.Helper()
	c := config(t, args)
	c.Secure.Listener = listenLocally(t)
	h := newTestHealth(t)
	stop, err := Serve(t.Context(), c, h, metrics.NewKubeRegistry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return h, "https://" + c.Secure.Listener.Addr().String()
}

func status(t *testing.T, client *http.Client, method, url, token string, body io.Reader) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// TestEndpoints checks who may read which path.
func TestEndpoints(t *testing.T) {
	kubeconfig := authority(t)
	_, url := serving(t, "--authentication-kubeconfig="+kubeconfig+" --authorization-kubeconfig="+kubeconfig)
	client := insecureClient()
	type answers struct{ Anonymous, WrongToken, Other, Reader int }
	for _, tc := range []struct {
		request string
		want    answers
	}{
		{"GET /healthz", answers{200, 401, 200, 200}},
		{"GET /healthz?verbose", answers{200, 401, 200, 200}},
		{"GET /healthz/ping", answers{403, 401, 403, 404}},
		{"GET /livez", answers{200, 401, 200, 200}},
		{"GET /livez/leaderElection", answers{403, 401, 403, 404}}, // there is no election here
		{"GET /readyz?verbose", answers{200, 401, 200, 200}},
		{"GET /readyz/api-server", answers{403, 401, 403, 200}},
		{"GET /metrics", answers{403, 401, 403, 200}},
		{"GET /metrics/slis", answers{403, 401, 403, 200}},
		{"DELETE /metrics/slis", answers{403, 401, 403, 200}},
		{"GET /configz", answers{403, 401, 403, 200}},
		{"GET /debug/pprof/", answers{403, 401, 403, 200}},
		{"GET /debug/flags/v", answers{403, 401, 403, 406}},
		{"PUT /debug/flags/v", answers{403, 401, 403, 200}},
		{"GET /statusz", answers{403, 401, 403, 200}},
		{"GET /flagz", answers{403, 401, 403, 200}},
		{"GET /", answers{403, 401, 403, 404}},
	} {
		t.Run(tc.request, func(t *testing.T) {
			method, path, _ := strings.Cut(tc.request, " ")
			as := func(token string) int { return status(t, client, method, url+path, token, strings.NewReader("0")) }
			if diff := cmp.Diff(tc.want, answers{as(""), as("wrong"), as("other"), as("reader")}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestOnlyChosenPathsAreOpen(t *testing.T) {
	kubeconfig := authority(t)
	_, url := serving(t, "--authentication-kubeconfig="+kubeconfig+" --authorization-kubeconfig="+kubeconfig+" --authorization-always-allow-paths=/metrics")
	for path, want := range map[string]int{"/metrics": 200, "/healthz": 403, "/livez": 403} {
		if got := status(t, insecureClient(), http.MethodGet, url+path, "", nil); got != want {
			t.Errorf("%s: got %d, want %d", path, got, want)
		}
	}
}

// keyPair is a self-signed certificate and its key.
type keyPair struct {
	cert, key []byte
	serial    int64
}

func newKeyPair(t *testing.T, serial int64, change func(*x509.Certificate)) keyPair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(serial),
		Subject:               pkix.Name{CommonName: "someone", Organization: []string{"system:masters"}},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if change != nil {
		change(template)
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return keyPair{
		cert:   pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}),
		key:    pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded}),
		serial: serial,
	}
}

// write writes the pair in the same way as the kubelet mounts a Secret.
func (k keyPair) write(t *testing.T, dir string) {
	t.Helper()
	mounttest.Write(t, dir, strconv.FormatInt(k.serial, 10), map[string][]byte{"tls.crt": k.cert, "tls.key": k.key})
}

func TestClientCertificate(t *testing.T) {
	dir := t.TempDir()
	master := newKeyPair(t, 1, nil)
	master.write(t, dir)
	_, url := serving(t, "--client-ca-file="+filepath.Join(dir, "tls.crt"))
	pair, err := tls.X509KeyPair(master.cert, master.key)
	if err != nil {
		t.Fatal(err)
	}
	client := insecureClient()
	if got := status(t, client, http.MethodGet, url+"/metrics", "", nil); got != 403 {
		t.Errorf("without a certificate: got %d", got)
	}
	client.Transport.(*http.Transport).TLSClientConfig.Certificates = []tls.Certificate{pair}
	if got := status(t, client, http.MethodGet, url+"/metrics", "", nil); got != 200 {
		t.Errorf("system:masters: got %d", got)
	}
}

// served returns the serial number of the certificate that a new connection gets.
// The test fails if there is no certificate, because there must be one at every
// moment of a rotation.
func served(t *testing.T, url string) int64 {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // the certificate is read, not trusted
	conn, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(url, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func TestCertificateRotation(t *testing.T) {
	dir := t.TempDir()
	newKeyPair(t, 1, nil).write(t, dir)
	h, url := serving(t, fmt.Sprintf("--tls-cert-file=%s/tls.crt --tls-private-key-file=%[1]s/tls.key", dir))
	if got := served(t, url); got != 1 {
		t.Fatalf("certificate %d is served", got)
	}
	for serial := int64(2); serial <= 3; serial++ {
		newKeyPair(t, serial, nil).write(t, dir)
		deadline := time.Now().Add(2 * time.Minute)
		for got := served(t, url); got != serial; got = served(t, url) {
			if got != serial-1 || time.Now().After(deadline) {
				t.Fatalf("certificate %d is served instead of %d", got, serial)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	if status, body := get(h.readyz, "/readyz?verbose"); status != 200 || !strings.Contains(body, "[+]certificates ok") {
		t.Errorf("/readyz: %d %s", status, body)
	}
	// A key that does not fit its certificate is ignored.
	broken := newKeyPair(t, 4, nil)
	broken.key = newKeyPair(t, 5, nil).key
	broken.write(t, dir)
	for range 20 {
		if got := served(t, url); got != 3 {
			t.Fatalf("certificate %d is served", got)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestExpiredCertificateIsNotReady(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*x509.Certificate)
		want   string
	}{
		{"Expired", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, "expired at "},
		{"NotYetValid", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }, "valid from "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			newKeyPair(t, 1, tc.change).write(t, dir)
			h, _ := serving(t, fmt.Sprintf("--tls-cert-file=%s/tls.crt --tls-private-key-file=%[1]s/tls.key", dir))
			if status, body := get(h.readyz, "/readyz/certificates"); status != 500 || !strings.Contains(body, tc.want) {
				t.Errorf("got %d %s", status, body)
			}
			if status, _ := get(h.livez, "/livez"); status != 200 {
				t.Error("a restart would not help")
			}
		})
	}
}
