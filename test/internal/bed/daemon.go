package bed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/process"
	"github.com/fairlead-k8s/fairlead/test/internal/proxy"
)

// Daemon starts a daemon that ends with the test. If the test fails, the end of
// its log is printed.
func (b *Bed) Daemon(t *testing.T, s daemon.Setup) *daemon.Daemon {
	t.Helper()
	d := &daemon.Daemon{Port: daemon.FreePort(t)}
	d.Argv = append([]string{named(t, b.Programs.forProvider(s.Provider), s.As)}, b.arguments(t, s, d.Port)...)
	b.start(t, d)
	return d
}

// Planned is the output of the sub-command "plan". It has only the fields that tests read.
type Planned struct {
	Steps []struct {
		Object, Controller, Effect, Do, Reason, Why string
		Writes, Calls                               []string
	}
	Refused []string
}

// Plan runs the sub-command "plan" with the arguments of a daemon of this setup, and with
// additional arguments. It returns the output and the exit code.
func (b *Bed) Plan(t *testing.T, s daemon.Setup, more ...string) (p Planned, code int) {
	t.Helper()
	argv := slices.Concat([]string{"plan", "--output=json"}, b.arguments(t, s, daemon.FreePort(t)), more)
	cmd := exec.CommandContext(t.Context(), b.Programs.forProvider(s.Provider), argv...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatalf("plan has printed %q: %v\n%s", out, err, &stderr)
	}
	if err != nil {
		t.Logf("plan: %v\n%s", err, &stderr)
	}
	return p, cmd.ProcessState.ExitCode()
}

// arguments returns the command line of a daemon, without the program.
func (b *Bed) arguments(t *testing.T, s daemon.Setup, port int) []string {
	t.Helper()
	dir := t.TempDir()
	election := []string{"--leader-elect=false"}
	if s.Elect {
		election = []string{"--leader-elect-lease-duration=60s", "--leader-elect-renew-deadline=50s"}
	}
	return slices.Concat([]string{
		"--cloud-provider=" + s.ProviderName(),
		"--cloud-config=" + WriteFile(t, filepath.Join(dir, "cloud.yaml"), s.Config(b.Cloud.URL)),
		"--kubeconfig=" + b.kubeconfig(t, dir, s.API),
		"--authentication-kubeconfig=" + b.Cluster.CCMKubeconfig,
		"--authorization-kubeconfig=" + b.Cluster.CCMKubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--cluster-cidr=" + s.Pods,
		"--configure-cloud-routes=" + strconv.FormatBool(s.Pods != ""),
		"--leader-elect-resource-name=" + cmp.Or(s.Lease, daemon.LeaseName),
	}, election, s.Flags)
}

// named gives the program another name, and returns its new path.
func named(t *testing.T, program, name string) string {
	t.Helper()
	if name == "" {
		return program
	}
	link := filepath.Join(t.TempDir(), name)
	program, err := filepath.Abs(program)
	if err == nil {
		err = os.Symlink(program, link)
	}
	if err != nil {
		t.Fatal(err)
	}
	return link
}

// start starts the daemon's command line.
func (b *Bed) start(t *testing.T, d *daemon.Daemon) {
	t.Helper()
	argv := d.Argv
	if len(b.Environment) > 0 {
		argv = slices.Concat([]string{"env"}, b.Environment, argv)
	}
	var err error
	if d.Process, err = process.Start(b.Dir, argv...); err != nil {
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

// kubeconfig returns the path of the daemon's kubeconfig. If there is a proxy, it
// writes a kubeconfig whose server is the proxy.
func (b *Bed) kubeconfig(t *testing.T, dir string, through *proxy.Proxy) string {
	t.Helper()
	if through == nil {
		return b.Cluster.CCMKubeconfig
	}
	config, err := clientcmd.LoadFromFile(b.Cluster.CCMKubeconfig)
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

// WriteFile writes a file of a test and returns its name. A process that reads the file
// meanwhile gets either the old content or the new one.
func WriteFile(t *testing.T, file, text string) string {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	return file
}

// ReadFile returns the content of a file. If the file is "", the content is empty.
func ReadFile(t *testing.T, file string) []byte {
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

// Metrics returns the lines of the daemon's metrics.
func (b *Bed) Metrics(ctx context.Context, d *daemon.Daemon) ([]string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", b.Cluster.Kubeconfig)
	if err != nil {
		return nil, err
	}
	status, text, err := d.Request(ctx, "/metrics", config.BearerToken)
	if err != nil {
		return nil, err
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("metrics: %d: %s", status, text)
	}
	return strings.Split(text, "\n"), nil
}

// Run runs this command line as a daemon, which serves on a free port of 127.0.0.1.
func (b *Bed) Run(t *testing.T, argv []string) *daemon.Daemon {
	t.Helper()
	d := &daemon.Daemon{Port: daemon.FreePort(t)}
	d.Argv = append(argv, "--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(d.Port))
	b.start(t, d)
	return d
}

// AwaitMetric waits for a line of the daemon's metrics.
func (b *Bed) AwaitMetric(t *testing.T, d *daemon.Daemon, line string) {
	t.Helper()
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		lines, err := b.Metrics(ctx, d)
		if err != nil {
			return err
		}
		if !slices.Contains(lines, line) {
			return fmt.Errorf("no metric %q", line)
		}
		return nil
	})
}
