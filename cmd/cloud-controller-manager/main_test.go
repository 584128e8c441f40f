package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asDaemon makes the test binary the daemon.
const asDaemon = "FAIRLEAD_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asDaemon) != "" {
		main()
	}
	os.Exit(m.Run())
}

// daemon runs the daemon to its end, and returns its output.
func daemon(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asDaemon+"=1")
	var out, err strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &err
	_ = cmd.Run() // the error is only the exit code, which is read below
	return out.String(), err.String(), cmd.ProcessState.ExitCode()
}

func TestAllThatIsWrongWithTheFlags(t *testing.T) {
	_, stderr, code := daemon(t,
		"--controllers=foo", "--concurrent-node-syncs=0", "--concurrent-service-syncs=-1", "--node-monitor-period=0s", "--leader-elect-renew-deadline=1m",
		"--webhook-secure-port=10258", "--webhooks=bar", "--tls-min-version=VersionTLS9", "--tls-cert-file=/nowhere/cert", "--kubeconfig=/nowhere/kubeconfig",
		"--cloud-config=/nowhere/cloud.yaml", "--enable-leader-migration", "--leader-migration-config=/nowhere/migration.yaml", "--cloud-config-watch=/nowhere/token",
		"--min-resync-period=-1s", "--secure_port=-1")
	if code != 1 {
		t.Errorf("got exit code %d, want 1", code)
	}
	for _, want := range []string{
		`--controllers: "foo" is not in the list of known controllers`,
		"--concurrent-node-syncs must be at least 1, but got 0",
		"--concurrent-service-syncs must be at least 1, but got -1",
		"--node-monitor-period must be positive, but got 0s",
		"--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline (1m0s), but got 15s",
		`--webhooks: "bar" is not in the list of known webhooks`,
		`--tls-min-version: unknown tls version "VersionTLS9"`,
		"--tls-cert-file and --tls-private-key-file must be set together",
		"--tls-cert-file: open /nowhere/cert: no such file or directory",
		"--kubeconfig: open /nowhere/kubeconfig: no such file or directory",
		"--cloud-config: open /nowhere/cloud.yaml: no such file or directory",
		"--leader-migration-config=/nowhere/migration.yaml: ",
		"--cloud-config-watch: stat /nowhere/token: no such file or directory",
		"--min-resync-period must not be negative, but got -1s",
		"--secure-port must be between 1 and 65535, or 0 to serve nothing, but got -1",
		"--cloud-provider cannot be empty",
	} {
		if !strings.Contains("\n"+stderr, "\n"+want) { // each error must begin a line
			t.Errorf("no %q in\n%s", want, stderr)
		}
	}
}

func TestAllThatIsWrongWithTheCloudConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cloud.yaml")
	if err := os.WriteFile(file, []byte("endpoint: ftp://127.0.0.1\npageSize: 0\ncolour: red\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := daemon(t, "--cloud-provider=simulated", "--cloud-config="+file, "--master=http://127.0.0.1:1")
	if code != 1 {
		t.Errorf("got exit code %d, want 1", code)
	}
	for _, want := range []string{"--cloud-config=" + file, "line 1: endpoint: must be a URL", "line 2: pageSize: must be a positive number", "line 3: colour"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in\n%s", want, stderr)
		}
	}
}

func TestAllThatIsWrongWithTheConfigOfStatic(t *testing.T) {
	file := filepath.Join(t.TempDir(), "static.yaml")
	if err := os.WriteFile(file, []byte("nodes:\n- selector: {}\n  zone: a b\n- zone: a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := daemon(t, "--cloud-provider=static", "--cloud-config="+file, "--master=http://127.0.0.1:1")
	if code != 1 {
		t.Errorf("got exit code %d, want 1", code)
	}
	for _, want := range []string{"--cloud-config=" + file, `nodes[0].zone: "a b"`, "nodes[1].selector: is missing", "providerID: is missing"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in\n%s", want, stderr)
		}
	}
}

func TestVersionAndHelp(t *testing.T) {
	if stdout, _, code := daemon(t, "--version"); code != 0 || !strings.HasPrefix(stdout, "cloud-controller-manager ") || !strings.Contains(stdout, "(Kubernetes libraries v0.") {
		t.Errorf("got %q with exit code %d", stdout, code)
	}
	stdout, _, code := daemon(t, "--help")
	if code != 0 {
		t.Errorf("got exit code %d", code)
	}
	for _, heading := range []string{
		"Debugging", "Leader-migration", "Generic", "Cloud-node-controller", "Cloud-node-lifecycle-controller", "Service-lb-controller",
		"Webhook", "Webhook serving", "Secure serving", "Authentication", "Authorization", "Misc", "Global",
	} {
		at := strings.Index(stdout, "\n"+heading+" flags:\n")
		if at < 0 {
			t.Fatalf("no heading %q, or not in upstream's order", heading)
		}
		stdout = stdout[at:]
	}
}
