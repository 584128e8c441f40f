package e2e

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-k8s/fairlead/test/e2e/proxy"
	"github.com/fairlead-k8s/fairlead/test/internal/process"
)

// setup is how a daemon is run. The zero value is the released program against
// the cloud that the kubelets follow, without an election.
type setup struct {
	// program is testCCM, or empty for the released one.
	program string
	// provider of testCCM: how it is, see testccm.
	provider string
	// cloud is the URL of another cloud, or of a proxy before one.
	cloud string
	// settings are further lines of the provider's configuration.
	settings string
	// api stands before the API server.
	api *proxy.Proxy
	// elect is for two replicas.
	elect bool
	// pods are the CIDRs of the cluster; empty for no routes.
	pods string
	// lease is what they elect their leader by; empty: the default one.
	lease string
	flags []string
}

// daemon is a process under test.
type daemon struct {
	*process.Process

	argv []string
	port int
}

// daemon starts one, which ends with the test. Its log is shown if the test
// fails.
func (b *bed) daemon(t *testing.T, s setup) *daemon {
	t.Helper()
	d := &daemon{port: freePort(t)}
	dir := t.TempDir()
	d.argv = append([]string{
		cmp.Or(s.program, b.programs.path("cloud-controller-manager")),
		"--cloud-provider=" + s.providerName(),
		"--cloud-config=" + write(t, filepath.Join(dir, "cloud.yaml"), s.config(b)),
		"--kubeconfig=" + b.kubeconfig(t, dir, s.api),
		"--authentication-kubeconfig=" + b.cluster.CCMKubeconfig,
		"--authorization-kubeconfig=" + b.cluster.CCMKubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(d.port),
		"--leader-elect=" + strconv.FormatBool(s.elect),
		"--cluster-cidr=" + s.pods,
		"--configure-cloud-routes=" + strconv.FormatBool(s.pods != ""),
		"--leader-elect-resource-name=" + cmp.Or(s.lease, leaseName),
	}, s.flags...)
	b.start(t, d)
	return d
}

// start starts the daemon's command line.
func (b *bed) start(t *testing.T, d *daemon) {
	t.Helper()
	var err error
	if d.Process, err = process.Start(b.dir, d.argv...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the end of the log of the daemon with PID %d:\n%s", d.PID(), d.Tail(40))
		}
	})
}

func (s setup) providerName() string {
	if s.program == testCCM {
		return "test"
	}
	return "simulated"
}

func (s setup) config(b *bed) string {
	config := "endpoint: " + cmp.Or(s.cloud, b.cloud.url) + "\n"
	if s.provider != "" {
		config += "provider: " + s.provider + "\n"
	}
	return config + s.settings
}

// kubeconfig is the daemon's own, by way of the proxy if there is one.
func (b *bed) kubeconfig(t *testing.T, dir string, through *proxy.Proxy) string {
	t.Helper()
	if through == nil {
		return b.cluster.CCMKubeconfig
	}
	config, err := clientcmd.LoadFromFile(b.cluster.CCMKubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.CertificateAuthorityData = through.URL(), through.CA()
	}
	file := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// exited waits for the end of the process and returns its code.
func (d *daemon) exited(t *testing.T, within time.Duration) int {
	t.Helper()
	select {
	case <-d.Done():
		return d.Code()
	case <-time.After(within):
		t.Fatalf("the daemon has not ended within %v", within)
		return 0
	}
}

// says tells whether the log has a line with all of these words.
func (d *daemon) says(words ...string) bool { return d.times(words...) > 0 }

// times is how many such lines there are.
func (d *daemon) times(words ...string) int {
	n := 0
	for line := range strings.Lines(d.Log()) {
		if containsAll(line, words) {
			n++
		}
	}
	return n
}

func containsAll(line string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(line, word) {
			return false
		}
	}
	return true
}

func write(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// read is empty for no file.
func read(t *testing.T, file string) []byte {
	t.Helper()
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// metrics are the lines of the daemon's metrics.
func (b *bed) metrics(ctx context.Context, d *daemon) ([]string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", b.cluster.Kubeconfig)
	if err != nil {
		return nil, err
	}
	status, text, err := d.request(ctx, "/metrics", config.BearerToken)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("metrics: %d: %s", status, text)
	}
	return strings.Split(text, "\n"), nil
}

// get is the status of the answer.
func (d *daemon) get(t *testing.T, path, token string) int {
	t.Helper()
	status, _ := d.ask(t.Context(), t, path, token)
	return status
}

// ask asks a daemon that serves; request is for one that may not serve yet.
func (d *daemon) ask(ctx context.Context, t *testing.T, path, token string) (status int, body string) {
	t.Helper()
	status, body, err := d.request(ctx, path, token)
	if err != nil {
		t.Fatal(err)
	}
	return status, body
}

// request asks over HTTPS, anonymously without a token.
func (d *daemon) request(ctx context.Context, path, token string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d%s", d.port, path), nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // its certificate is its own
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}
