package main

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// With the environment variable asDaemon, the test binary runs as the daemon.
const asDaemon = "FAIRLEAD_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asDaemon) != "" {
		main()
	}
	os.Exit(m.Run())
}

// daemon runs the daemon to its end, and returns its output and its exit code.
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

// The parser of flags stops at its first error. The daemon reports all errors.
func TestAllThatCannotBeParsed(t *testing.T) {
	stdout, stderr, code := daemon(t,
		"--cloud-provder=x", "--controllers=foo", "--feature-gates=Foo=true", "--concurrent-node-syncs=many", "-x", "--node-deletion-silent-after", "soon",
		"--node-label-reconcile=all", "--logging-format=xml", "--node-deletion-budget-percent=200", "--kubeconfig=/nowhere/kubeconfig", "plna", "--v")
	if code != 1 || stdout != "" {
		t.Errorf("got exit code %d and output %q, want 1 and none", code, stdout)
	}
	want := []string{
		"unknown flag: --cloud-provder; did you mean --cloud-provider?",
		`--controllers: "foo" is not in the list of known controllers: cloud-node-controller, `,
		`invalid argument "Foo=true" for "--feature-gates" flag: unrecognized feature gate: Foo`,
		`invalid argument "many" for "--concurrent-node-syncs" flag: `,
		"unknown shorthand flag: 'x' in -x",
		`invalid argument "soon" for "--node-deletion-silent-after" flag: time: invalid duration "soon"`,
		`invalid argument "all" for "--node-label-reconcile" flag: `,
		`--logging-format: Invalid value: "xml": Unsupported log format`,
		"--node-deletion-budget-percent must be between 0 and 100, but got 200",
		"flag needs an argument: --v",
		"All flags: cloud-controller-manager flags",
	}
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for i, line := range lines {
		if i >= len(want) || !strings.HasPrefix(line, want[i]) {
			t.Errorf("line %d is %q", i+1, line)
		}
	}
	if len(lines) != len(want) {
		t.Errorf("it has %d lines, want %d:\n%s", len(lines), len(want), stderr)
	}
}

// If several feature gates are wrong, the library names one of them at random. The
// daemon prints only that error.
func TestWrongGatesAreOneError(t *testing.T) {
	_, stderr, code := daemon(t, "--feature-gates=A=true,B=true,C=true,D=true,E=true,F=true,G=true,H=true,I=true,J=true", "--cloud-provider=simulated")
	if code != 1 || strings.Count(stderr, "unrecognized feature gate") != 1 {
		t.Errorf("got exit code %d, want 1, and one error:\n%s", code, stderr)
	}
}

func TestAllThatIsWrongWithTheCloudConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cloud.yaml")
	if err := os.WriteFile(file, []byte("endpoint: ftp://127.0.0.1\npageSize: -1\ncolour: red\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, code := daemon(t, "--cloud-provider=simulated", "--cloud-config="+file, "--master=http://127.0.0.1:1")
	if code != 1 {
		t.Errorf("got exit code %d, want 1", code)
	}
	for _, want := range []string{"--cloud-config=" + file, "line 1: endpoint: must be a URL", "line 2: pageSize: must not be negative", "line 3: colour"} {
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

// Each row is a mistake of a new user. One line says what is wrong, and usually what
// to do. The daemon ends before it makes a request.
func TestFirstAttempts(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const linked, nowhere = "--cloud-provider=simulated", "--master=http://127.0.0.1:1"
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	garbage, cloud := file("garbage", "garbage"), "--cloud-config="+file("cloud", "endpoint: http://127.0.0.1:1\n")
	for name, row := range map[string]struct {
		args []string
		want string
	}{
		"NoArguments":              {nil, "--cloud-provider cannot be empty"},
		"NoCluster":                {[]string{linked}, "--kubeconfig is missing, and the service account of a Pod cannot be used instead: "},
		"NoKubeconfig":             {[]string{linked, "--kubeconfig=" + garbage}, "--kubeconfig, --master: error loading config file"},
		"NoAddress":                {[]string{linked, "--master=foo:::"}, `--master: "foo:::" is not the address of an API server, such as https://192.0.2.1:6443`},
		"NoScheme":                 {[]string{linked, "--master=ftp://192.0.2.1"}, `--master: "ftp://192.0.2.1" is not the address of an API server`},
		"NotLinked":                {[]string{"--cloud-provider=hcloud", nowhere}, "is not linked into this binary: its main.go needs a blank import"},
		"ConfigMissing":            {[]string{linked, nowhere, "--cloud-config=" + dir + "/nope"}, "--cloud-config: open " + dir + "/nope: no such file or directory"},
		"ConfigIsAFolder":          {[]string{linked, nowhere, "--cloud-config=" + dir}, "--cloud-config: " + dir + " is a folder"},
		"ConfigEmpty":              {[]string{linked, nowhere, "--cloud-config=" + file("empty", "")}, "endpoint: is missing; the file is empty"},
		"ConfigIsNotText":          {[]string{linked, nowhere, "--cloud-config=" + file("binary", "\xff\xfe")}, "the file is not UTF-8 text"},
		"ConfigIsNotYAML":          {[]string{linked, nowhere, "--cloud-config=" + file("broken", "a: [\n")}, "line 1: did not find expected node content"},
		"ConfigMistyped":           {[]string{linked, nowhere, "--cloud-config=" + file("typo", "endpoit: x\n")}, "line 1: endpoit: unknown key; did you mean endpoint?"},
		"FlagMistyped":             {[]string{"--cloud-provder=x"}, "unknown flag: --cloud-provder; did you mean --cloud-provider?"},
		"CommandMistyped":          {[]string{"plna"}, `"cloud-controller-manager" does not take any arguments, got ["plna"]; did you mean plan?`},
		"BoolWithASpace":           {[]string{"--node-deletion", "false"}, "a flag that is true or false needs =, as in --node-deletion=false"},
		"NoDuration":               {[]string{"--node-deletion-silent-after=xx"}, `invalid argument "xx" for "--node-deletion-silent-after" flag`},
		"NoPercentage":             {[]string{linked, "--node-deletion-budget-percent=200"}, "--node-deletion-budget-percent must be between 0 and 100, but got 200"},
		"NoPort":                   {[]string{linked, "--secure-port=99999"}, "--secure-port must be between 1 and 65535, or 0 to serve nothing, but got 99999"},
		"NoLogFormat":              {[]string{linked, "--logging-format=xml"}, `--logging-format: Invalid value: "xml"`},
		"NoContentType":            {[]string{linked, "--kube-api-content-type=foo"}, `--kube-api-content-type: "foo" is none of`},
		"NoController":             {[]string{linked, "--controllers="}, "--controllers: \"\" runs no controller: '*,-foo' runs all but foo"},
		"ControllersMinusOne":      {[]string{linked, "--controllers=-route"}, "--controllers: \"-route\" runs no controller"},
		"ControllerMistyped":       {[]string{linked, "--controllers=nod"}, `--controllers: "nod" is not in the list of known controllers: cloud-node-controller, `},
		"ControllerWithASpace":     {[]string{linked, "--controllers=*, -service"}, `--controllers: " -service" is not in the list of known controllers: `},
		"NoClusterName":            {[]string{linked, "--cluster-name="}, "--cluster-name cannot be empty"},
		"NoCIDR":                   {[]string{linked, "--controllers=route", "--cluster-cidr=foo"}, `--cluster-cidr: "foo" is not a CIDR`},
		"TwoCIDRsOfOneFamily":      {[]string{linked, "--controllers=route", "--cluster-cidr=10.0.0.0/8,11.0.0.0/8"}, "--cluster-cidr has two CIDRs of one family"},
		"ClassWithASpace":          {[]string{linked, "--load-balancer-class=a b"}, `--load-balancer-class: "a b" is not a load balancer class`},
		"LeaseTooShort":            {[]string{linked, "--leader-elect-lease-duration=1s"}, "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline (10s), but got 1s"},
		"NoValue":                  {[]string{"--kubeconfig"}, "flag needs an argument: --kubeconfig"},
		"UnknownShorthand":         {[]string{"-x"}, "unknown shorthand flag: 'x' in -x"},
		"VersionAsACommand":        {[]string{"version"}, `"cloud-controller-manager" does not take any arguments, got ["version"]; did you mean --version?`},
		"HelpAboutNothing":         {[]string{"help", "plna"}, `unknown command "plna" for "cloud-controller-manager"; did you mean plan?`},
		"FlagOfPlanMistyped":       {[]string{"plan", "--detailedexitcode"}, "unknown flag: --detailedexitcode; did you mean --detailed-exitcode?"},
		"PlanOfAnArgument":         {[]string{"plan", "node/a"}, `"cloud-controller-manager plan" does not take any arguments, got ["node/a"]`},
		"PlanWithoutProvider":      {[]string{"plan"}, "--cloud-provider cannot be empty"},
		"PolicyOfAnArgument":       {[]string{"policy", "x"}, `"cloud-controller-manager policy" does not take any arguments, got ["x"]`},
		"PolicyWithoutProvider":    {[]string{"policy"}, "--cloud-provider cannot be empty"},
		"KubeconfigMissing":        {[]string{linked, "--kubeconfig=" + dir + "/nope"}, "--kubeconfig: open " + dir + "/nope: no such file or directory"},
		"KubeconfigIsAFolder":      {[]string{linked, "--kubeconfig=" + dir}, "--kubeconfig: " + dir + " is a folder"},
		"NoBool":                   {[]string{"--node-deletion=perhaps"}, `invalid argument "perhaps" for "--node-deletion" flag`},
		"NoNumber":                 {[]string{"--kube-api-qps=abc"}, `invalid argument "abc" for "--kube-api-qps" flag`},
		"NoUnit":                   {[]string{"--route-reconciliation-period=10"}, `invalid argument "10" for "--route-reconciliation-period" flag: time: missing unit in duration "10"`},
		"NoVerbosity":              {[]string{"--v=x"}, `invalid argument "x" for "-v, --v" flag`},
		"NoAddressToBind":          {[]string{"--bind-address=foo"}, `invalid argument "foo" for "--bind-address" flag: failed to parse IP: "foo"`},
		"PortIsNoNumber":           {[]string{"--secure-port=abc"}, `invalid argument "abc" for "--secure-port" flag`},
		"GateUnknown":              {[]string{"--feature-gates=Foo=true"}, `invalid argument "Foo=true" for "--feature-gates" flag: unrecognized feature gate: Foo`},
		"GateWithoutValue":         {[]string{"--feature-gates=Foo"}, "missing bool value for Foo"},
		"LabelsUnknown":            {[]string{"--node-label-reconcile=x"}, `invalid argument "x" for "--node-label-reconcile" flag: "x" is not 'type', 'additional' or 'remove'; 'none' must be the only value`},
		"LeaseDurationIsNone":      {[]string{"--leader-elect-renew-deadline=abc"}, `invalid argument "abc" for "--leader-elect-renew-deadline" flag`},
		"SelectorIsNone":           {[]string{linked, "--own-node-selector=a b"}, "--own-node-selector: unable to parse requirement"},
		"SchemeIsNone":             {[]string{linked, "--own-provider-id-schemes=hcloud://"}, `--own-provider-id-schemes: "hcloud://" is not the part of a provider ID before ://`},
		"ThreeCIDRs":               {[]string{linked, "--controllers=route", "--cluster-cidr=10.0.0.0/8,fd00::/48,11.0.0.0/8"}, "--cluster-cidr has 3 CIDRs, and may have two at most"},
		"AddressIsNoCIDR":          {[]string{linked, "--controllers=route", "--cluster-cidr=10.0.0.1"}, `--cluster-cidr: "10.0.0.1" is not a CIDR`},
		"BackendsRemovedOn":        {[]string{linked, "--service-remove-backends-on=x"}, `--service-remove-backends-on: "x" is none of "taint", "deletion" and condition:TYPE`},
		"NoCipher":                 {[]string{linked, "--tls-cipher-suites=x"}, "--tls-cipher-suites: Cipher suite x not supported or doesn't exist"},
		"NoTLSVersion":             {[]string{linked, "--tls-min-version=VersionTLS9"}, `--tls-min-version: unknown tls version "VersionTLS9"`},
		"KeyMissing":               {[]string{linked, "--tls-cert-file=/dev/null"}, "--tls-cert-file and --tls-private-key-file must be set together"},
		"MigrationFileMissing":     {[]string{linked, "--enable-leader-migration", "--leader-migration-config=" + dir + "/nope"}, "--leader-migration-config=" + dir + "/nope: "},
		"MigrationWithoutElection": {[]string{linked, "--enable-leader-migration", "--leader-elect=false"}, "--enable-leader-migration needs --leader-elect"},
		"WatchedFileMissing":       {[]string{linked, "--cloud-config-watch=" + dir + "/nope"}, "--cloud-config-watch: stat " + dir + "/nope: no such file or directory"},
		"NoWebhook":                {[]string{linked, "--webhooks=zz"}, `--webhooks: "zz" is not in the list of known webhooks`},
		"TwoPortsAreOne":           {[]string{linked, "--webhook-secure-port=10258"}, "--webhook-secure-port cannot be the same value as --secure-port"},
		"NoConcurrency":            {[]string{linked, "--concurrent-node-syncs=0"}, "--concurrent-node-syncs must be at least 1, but got 0"},
		"NoPeriod":                 {[]string{linked, "--node-monitor-period=0s"}, "--node-monitor-period must be positive, but got 0s"},
		"NoCAFile":                 {[]string{linked, "--requestheader-client-ca-file=" + dir + "/nope"}, "--requestheader-client-ca-file: open " + dir + "/nope: no such file or directory"},
		"ProviderOnlyInShadow":     {[]string{"--shadow"}, "--cloud-provider cannot be empty"},
		"ConfigWithoutScheme":      {[]string{linked, nowhere, "--cloud-config=" + file("scheme", "endpoint: 127.0.0.1:7640\n")}, `line 1: endpoint: must be a URL such as https://api.example.com, not "127.0.0.1:7640"`},
		"PortInUse":                {[]string{linked, nowhere, cloud, "--bind-address=127.0.0.1", "--secure-port=" + port}, "serving: --secure-port: another process has this port; choose another one, or 0 to serve nothing: "},
		"FlagThatChangesNothing":   {[]string{linked, "--external-cloud-volume-plugin=x"}, `"Warning: this flag changes nothing here" flag="--external-cloud-volume-plugin" why="No cloud-controller-manager has read it since volumes moved to CSI drivers."`},
		"FlagRemoved":              {[]string{linked, "--logtostderr"}, "unknown flag: --logtostderr: Kubernetes 1.26 has removed it; the log always goes to standard error"},
		"CertificateIsNone":        {[]string{linked, "--tls-cert-file=" + garbage, "--tls-private-key-file=" + garbage}, "--tls-cert-file=" + garbage + " and --tls-private-key-file=" + garbage + " must be a certificate and its key in PEM: tls: "},
		"CertificateOfANameIsNone": {[]string{linked, "--tls-sni-cert-key=" + garbage + "," + garbage}, "--tls-sni-cert-key=" + garbage + "," + garbage + " must be a certificate and its key in PEM: tls: "},
		"AuthorityIsNone":          {[]string{linked, "--client-ca-file=" + garbage}, "--client-ca-file=" + garbage + " must have certificates in PEM: "},
		"CheckedWordIsNoFlag":      {[]string{"check-flags", "foo"}, `"foo" is refused; the command line to check comes after --, as in `},
		"UnknownShell":             {[]string{"completion", "csh"}, `completion: "csh" is none of bash, fish, powershell, zsh`},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := daemon(t, row.args...)
			if code != 1 || stdout != "" {
				t.Errorf("got exit code %d and output %q, want 1 and none", code, stdout)
			}
			if n := strings.Count(stderr, row.want); n != 1 {
				t.Errorf("it says %d times, want once, %q:\n%s", n, row.want, stderr)
			}
		})
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 7 {
		t.Errorf("the folder has %v (%v), want the 7 files of this test", entries, err)
	}
}

// Each row is a command line that a new user tries. The daemon answers it without a
// cluster and without a cloud.
func TestAnswers(t *testing.T) {
	for line, row := range map[string]struct {
		want string // how the output begins
		code int
	}{
		"--help":                     {"The cloud controller manager ties a Kubernetes cluster to the cloud under it.\n", 0},
		"--version":                  {"cloud-controller-manager ", 0},
		"--version=raw":              {"version.Info{", 0},
		"help flags":                 {"\nDebugging flags:\n", 0},
		"help plan":                  {"Prints what the daemon would do", 0},
		"policy --help":              {"Prints a ValidatingAdmissionPolicy", 0},
		"completion bash":            {"# bash completion V2 for cloud-controller-manager", 0},
		"__complete pla":             {"plan\t", 0},
		"__complete --controllers ":  {"cloud-node-controller\ncloud-node-lifecycle-controller\nservice-lb-controller\n", 0},
		"check-flags -- --v=2 --foo": {"ARGUMENT          VERDICT  WHY\n--v=2             used\n--foo             unknown  ", 1},
	} {
		t.Run(line, func(t *testing.T) {
			if stdout, stderr, code := daemon(t, strings.Split(line, " ")...); code != row.code || !strings.HasPrefix(stdout, row.want) {
				t.Errorf("got %q with exit code %d, want %q with %d; errors: %s", stdout, code, row.want, row.code, stderr)
			}
		})
	}
}

// An unreachable API server is not an error, because it may come back. The log
// reports it, and the daemon can be stopped.
func TestUnreachableAPIServer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cloud.yaml")
	if err := os.WriteFile(file, []byte("endpoint: http://127.0.0.1:1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // A daemon that does not end is killed.
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "--cloud-provider=simulated", "--cloud-config="+file, "--master=http://127.0.0.1:1", "--secure-port=0")
			cmd.Env = append(os.Environ(), asDaemon+"=1")
			log, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(log)
			for lines.Scan() && !strings.Contains(lines.Text(), "dial tcp 127.0.0.1:1: connect: connection refused") {
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Error(err)
			}
			for lines.Scan() { // Read the rest, so that the daemon does not block on the pipe.
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("ended with %v, want no error", err)
			}
		})
	}
}

func TestVersionAndHelp(t *testing.T) {
	if stdout, _, code := daemon(t, "--version"); code != 0 || !strings.HasPrefix(stdout, "cloud-controller-manager ") || !strings.Contains(stdout, "(Kubernetes libraries v0.") {
		t.Errorf("got %q with exit code %d", stdout, code)
	}
	stdout, _, code := daemon(t, "flags")
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
