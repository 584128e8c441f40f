// Package daemon runs a daemon under test, and reads its log and its HTTP responses.
package daemon

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/ports"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/process"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
	"github.com/fairlead-k8s/fairlead/test/internal/timeout"
)

// Setup says how to run a daemon. The zero value is the released program with the
// cloud of the bed, and without leader election.
type Setup struct {
	// Provider is a provider of testccm. Empty means the released program with
	// its own provider.
	Provider string
	// Static is the configuration of the provider "static". If it is set, that provider
	// replaces the simulated one.
	Static string
	// As is another name for the program, its log and its user agent. With it, the
	// audit log shows which of several daemons has made a request.
	As string
	// Cloud is the URL of another cloud, or of a proxy of a cloud. Empty means
	// the cloud of the bed.
	Cloud string
	// Settings are additional lines of the provider's configuration.
	Settings string
	// FastPaths lets the simulated provider offer its list and its watch of instances,
	// and its calls about many Services or routes. Calls of the list and of the watch can
	// come at any time, and the other calls are about several objects at once. So a test
	// that counts the calls about one object leaves FastPaths off.
	FastPaths bool
	// Terminations lets the simulated provider say which instances were terminated, also
	// without FastPaths.
	Terminations bool
	// API is a proxy of the API server; nil for none.
	API *proxy.Proxy
	// Elect switches leader election on. The lease is longer than by default: on a busy
	// machine, the API server may not answer for more than ten seconds. Flags can set it.
	Elect bool
	// Pods are the CIDRs of the cluster; empty means no routes.
	Pods string
	// Lease is the name of the Lease for the election; empty means the default.
	Lease string
	// Flags are added to the command line.
	Flags []string
}

// Daemon is a process under test.
type Daemon struct {
	*process.Process

	Argv []string
	Port int
}

// ProviderName returns the value of --cloud-provider.
func (s Setup) ProviderName() string {
	switch {
	case s.Provider != "":
		return "test"
	case s.Static != "":
		return "static"
	}
	return "simulated"
}

// Config returns the provider's configuration. The cloud's URL is s.Cloud, or the
// argument if s.Cloud is empty.
func (s Setup) Config(usual string) string {
	if s.Static != "" {
		return s.Static
	}
	config := "endpoint: " + cmp.Or(s.Cloud, usual) + "\n"
	switch {
	case s.Provider != "":
		config += "provider: " + s.Provider + "\n"
	case !s.FastPaths:
		config += "withoutLists: true\nwithoutRouteApplier: true\nwithoutBackendSetter: true\n"
		config += fmt.Sprintf("withoutTerminations: %v\n", !s.Terminations)
	}
	return config + s.Settings
}

// AwaitExit waits for the end of the process and returns its code.
func (d *Daemon) AwaitExit(t *testing.T, within time.Duration) int {
	t.Helper()
	if !timeout.Closed(within, d.Done()) {
		t.Fatalf("the daemon has not ended within %v", within)
	}
	return d.Code()
}

// Logged reports whether the log has a line with all of these words.
func (d *Daemon) Logged(words ...string) bool { return d.CountLogged(words...) > 0 }

// AwaitLogged waits for a line of the log with all of these words. The daemon can log a
// change after the change is visible in the cloud or in the API server.
func (d *Daemon) AwaitLogged(t *testing.T, words ...string) {
	t.Helper()
	expect.Within(t, expect.Soon, func(context.Context) error {
		if !d.Logged(words...) {
			return fmt.Errorf("no line of the log has all of %q", words)
		}
		return nil
	})
}

// CountLogged returns the number of lines of the log with all of these words.
func (d *Daemon) CountLogged(words ...string) int {
	n := 0
	for line := range strings.Lines(d.Log()) {
		if expect.HasWords(line, words) {
			n++
		}
	}
	return n
}

// Ask makes a request to a daemon that serves already, and fails the test on an
// error. Use Request for a daemon that may not serve yet.
func (d *Daemon) Ask(ctx context.Context, t *testing.T, path, token string) (status int, body string) {
	t.Helper()
	status, body, err := d.Request(ctx, path, token)
	if err != nil {
		t.Fatal(err)
	}
	return status, body
}

// Request makes a request over HTTPS. Without a token it is anonymous.
func (d *Daemon) Request(ctx context.Context, path, token string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d%s", d.Port, path), nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} // the daemon's certificate is self-signed
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// LeaseName is the default name of the Lease for the leader election.
const LeaseName = "cloud-controller-manager"

// free is shared by all daemons of a test program, so that no port is given twice.
var free ports.Picker

// FreePort returns a port on which nothing listens. The kernel does not use it for
// outgoing connections.
func FreePort(t *testing.T) int {
	t.Helper()
	port, err := free.Next()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// ConfigFile returns the path of the provider's configuration.
func (d *Daemon) ConfigFile(t *testing.T) string {
	t.Helper()
	for _, arg := range d.Argv {
		if file, ok := strings.CutPrefix(arg, "--cloud-config="); ok {
			return file
		}
	}
	t.Fatal("the daemon has no --cloud-config")
	return ""
}
