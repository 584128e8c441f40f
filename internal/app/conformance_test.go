package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
	worlds "github.com/fairlead-k8s/fairlead/provider/conformance/simulated"
	_ "github.com/fairlead-k8s/fairlead/providers/simulated" // the provider "simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// With the environment variable asWorld, the test binary runs as a World. The
// variable's value is the URL of the cloud.
const asWorld = "FAIRLEAD_TEST_WORLD"

// asProgram names the environment variable that has the arguments of a child process
// of the suite.
const asProgram = "FAIRLEAD_TEST_ARGUMENTS"

// If the environment variable asWhole is set, the program's target is wholeTarget.
const asWhole = "FAIRLEAD_TEST_WHOLE_TARGET"

// If the environment variable waitsShortly is set, child processes wait only a
// second for the cloud to show a change.
const waitsShortly = "FAIRLEAD_TEST_WAITS_SHORTLY"

// The environment variable killsAfter names a verb of the World. Once the World has
// carried out this verb, it does not answer, but kills the process of the check.
const killsAfter = "FAIRLEAD_TEST_KILLS_AFTER"

// serveWorld carries out one verb of the World, and ends the process.
func serveWorld(url string) {
	ctx := context.Background()
	there := worlds.At(url)
	world := any(there)
	if switchURL := os.Getenv(holdsBy); switchURL != "" {
		world = worldThatHolds{there, switchURL}
	}
	answer, err := conformance.Serve(ctx, world, os.Args[1:], there.ClearFaults)
	if err == nil && os.Getenv(killsAfter) == os.Args[1] {
		_ = syscall.Kill(os.Getppid(), syscall.SIGKILL) // The test fails if the check survives.
		os.Exit(1)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, err)
	if errors.Is(err, conformance.ErrCannot) {
		os.Exit(3)
	}
	os.Exit(1)
}

// On a busy machine a check may take minutes, because each verb of the World starts a
// process. patient is the timeout of a check, and patiently is the flag that sets it.
const (
	patient   = 20 * time.Minute
	patiently = "--check-timeout=20m"
)

// simulatedCloud serves a cloud, and lets the test binary run as the World of this
// cloud. It returns the cloud's URL and the provider's configuration file.
func simulatedCloud(t *testing.T) (url, config string) {
	t.Helper()
	cloud, err := simulator.New(simulator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	t.Setenv(asWorld, server.URL)
	config = filepath.Join(t.TempDir(), "cloud.yaml")
	if err := os.WriteFile(config, []byte("endpoint: "+server.URL+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return server.URL, config
}

// conform runs the sub-command. It returns the two outputs and the exit code.
func conform(t *testing.T, o Options, args ...string) (out, errs string, code int) {
	t.Helper()
	args = append([]string{"conformance"}, args...)
	t.Setenv(asProgram, strings.Join(args, "\n"))
	var stdout, stderr strings.Builder
	cmd := NewCommand(o)
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	if !EndedAsPlanned(err) {
		PrintError(cmd, err)
	}
	return stdout.String(), stderr.String(), ExitCode(err, 75)
}

// outcomes returns the outcomes of all checks by ID.
func outcomes(r *conformance.Report) map[string]conformance.Outcome {
	all := map[string]conformance.Outcome{}
	for _, c := range r.Checks {
		all[c.ID] = c.Outcome
	}
	return all
}

// For each check, the sub-command has the same result as the suite under "go test".
// The two reports differ only in dates and seconds, like those of any two runs.
func TestConformanceIsTheSameByCommandAndByTest(t *testing.T) {
	t.Setenv(asWhole, "true")
	dir := t.TempDir()
	byCommand, byTest := filepath.Join(dir, "command.yaml"), filepath.Join(dir, "test.yaml")
	o := plain
	o.Conformance = wholeTarget()
	_, errs, code := conform(t, o, "--cloud-provider=simulated", "--allow-writes", patiently, "--ledger="+filepath.Join(dir, "made.jsonl"), "--report="+byCommand)
	if code != 0 {
		t.Fatalf("code %d:\n%s", code, errs)
	}
	got, err := conformance.ReadReport(byCommand)
	if err != nil {
		t.Fatal(err)
	}
	want := conformance.Test(t, *wholeTarget(), conformance.Options{Reproduce: got.Reproduce, Child: thisProgram, Timeout: patient})
	text, err := want.YAML()
	if err = errors.Join(err, os.WriteFile(byTest, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(outcomes(want), outcomes(got)); d != "" {
		t.Errorf("(-go test +command):\n%s", d)
	}
	for _, c := range got.Checks {
		if c.Outcome != conformance.Passed {
			t.Errorf("%s is %s and compares nothing: %s", c.ID, c.Outcome, c.Why)
		}
	}
	if len(got.Checks) != len(conformance.Checks()) {
		t.Errorf("%d of %d checks", len(got.Checks), len(conformance.Checks()))
	}
	if d := cmp.Diff(withoutTimes(t, byTest), withoutTimes(t, byCommand)); d != "" {
		t.Errorf("the reports (-go test +command):\n%s", d)
	}
}

// wholeTarget is the simulated provider with everything that any check needs. Each
// check has its own cloud, in the process that runs the check.
func wholeTarget() *conformance.Target {
	const pageSize, maxBackends, maxRoutes, secret = 3, 6, 210, "s3cret-of-the-account"
	with := func(text string) func(context.Context, any) (cloudprovider.Interface, error) {
		return func(ctx context.Context, w any) (cloudprovider.Interface, error) {
			made, err := cloudprovider.GetCloudProvider("simulated", strings.NewReader(strings.ReplaceAll(text, "URL", w.(*worlds.World).URL())))
			if err == nil {
				made.Initialize(nil, ctx.Done())
			}
			return made, err
		}
	}
	return &conformance.Target{
		Name: "simulated",
		World: func(ctx context.Context) (any, error) {
			return worlds.New(ctx, simulator.Config{PageSize: pageSize, MaxBackends: maxBackends, MaxRoutes: maxRoutes})
		},
		New: with("endpoint: URL"),
		Configs: []conformance.Config{
			{Flaw: conformance.BadCredentials, New: func(ctx context.Context, w any) (cloudprovider.Interface, error) {
				if _, err := w.(*worlds.World).SetFault(ctx, conformance.Fault{Kind: conformance.FaultUnauthenticated}); err != nil {
					return nil, err
				}
				return with("endpoint: URL")(ctx, w)
			}},
			{Flaw: conformance.UnknownKey, New: with("endpoint: URL\ntoken: " + secret), Mentions: []string{"token"}},
			{Flaw: conformance.TwoMistakes, New: with("endpoint: here\npageSize: many"), Mentions: []string{"endpoint", "pageSize"}},
		},
		Secrets:           []string{secret},
		LegacyProviderIDs: func(m conformance.Machine) []string { return []string{"simulated://other/" + m.ID} },
		Features: conformance.Features{Supported: []conformance.Feature{
			conformance.UDP, conformance.MixedProtocol, conformance.SourceRanges, conformance.SessionAffinity, conformance.ETPLocal, conformance.StaticIP,
		}},
		Configuration: func(w any) string { return "endpoint: " + w.(*worlds.World).URL() },
		PageSize:      pageSize,
		MaxTargets:    maxBackends,
		MaxRoutes:     maxRoutes,
		Services: []conformance.Shape{
			{Name: "mistyped", Change: func(s *corev1.Service) {
				s.Annotations = map[string]string{"simulated.fairlead.dev/drian": "30s"}
			}, Want: conformance.Refused, Mentions: []string{"drian"}},
		},
	}
}

// The sub-command has the same result if its World runs in a separate process.
func TestConformanceIsTheSameWithAnExecutable(t *testing.T) {
	some := []string{
		"instances/by-name", "instances/gone-by-name", "instances/labels", "instances/renamed", "instances/denied-as-404", "instances/id-legacy",
		"loadbalancers/restart", "loadbalancers/not-mine", "loadbalancers/delete",
	}
	url, config := simulatedCloud(t)
	dir := t.TempDir()
	report := filepath.Join(dir, "report.yaml")
	args := []string{
		"--cloud-provider=simulated", "--cloud-config=" + config, "--allow-writes", patiently, "--world=" + os.Args[0], "--ledger=" + filepath.Join(dir, "made.jsonl"),
		"--report=" + report, "--junit=" + filepath.Join(dir, "junit.xml"), "-o", "json",
		"--skip=instances/labels=a reason", "--run=" + strings.Join(some, ","),
	}
	out, errs, code := conform(t, plain, args...)
	if code != 0 {
		t.Fatalf("code %d:\n%s", code, errs)
	}
	got, err := conformance.ReadReport(report)
	if err != nil {
		t.Fatal(err)
	}
	want, err := conformance.Run(t.Context(), conformance.Target{
		Name: "simulated", Shared: true, Live: true,
		World: conformance.Executable{Path: os.Args[0]}.World,
		New: func(ctx context.Context, _ any) (cloudprovider.Interface, error) {
			made, err := cloudprovider.GetCloudProvider("simulated", strings.NewReader("endpoint: "+url))
			if err == nil {
				made.Initialize(nil, ctx.Done())
			}
			return made, err
		},
	}, conformance.Options{Only: some, Skip: map[string]string{"instances/labels": "a reason"}, Timeout: patient})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(outcomes(want), outcomes(got)); d != "" {
		t.Errorf("(-go test +command):\n%s", d)
	}
	fromOutput := filepath.Join(dir, "output.json")
	if err := os.WriteFile(fromOutput, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	same, err := conformance.ReadReport(fromOutput)
	if d := cmp.Diff(got, same); d != "" || err != nil {
		t.Errorf("error %v; (-file +output):\n%s", err, d)
	}
	if left := inCloud(t, url); left != "" {
		t.Errorf("left in the cloud: %s", left)
	}
}

var times = regexp.MustCompile(`(?m)^( *-? *)(date|seconds): .*$`)

func withoutTimes(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return times.ReplaceAllString(string(text), "$1$2: x")
}

// inCloud lists everything in the cloud.
func inCloud(t *testing.T, url string) string {
	t.Helper()
	operator := simulator.NewClient(url).Operator()
	machines, err1 := operator.Instances(t.Context())
	balancers, err2 := operator.LoadBalancers(t.Context())
	routes, err3 := operator.Routes(t.Context())
	addresses, err4 := operator.StaticIPs(t.Context())
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, m := range machines {
		all = append(all, "instance "+m.Name)
	}
	for _, l := range balancers {
		all = append(all, "load balancer "+l.Name)
	}
	for _, r := range routes {
		all = append(all, "route "+r.Name)
	}
	for _, a := range addresses {
		all = append(all, "address "+a.Name)
	}
	return strings.Join(all, ", ")
}

// Without --allow-writes the provider makes no call that changes the cloud.
func TestConformanceOnlyReadsUnlessItMayWrite(t *testing.T) {
	url, config := simulatedCloud(t)
	operator := simulator.NewClient(url).Operator()
	for _, name := range []string{"worker-1", "worker-2"} {
		if _, err := operator.CreateInstance(t.Context(), simulator.Instance{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	out, errs, code := conform(t, plain, "--cloud-provider=simulated", "--cloud-config="+config, "--machine=worker-1", "--machine=worker-2", "-o", "json")
	var report conformance.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 {
		t.Fatalf("code %d, error %v:\n%s", code, err, errs)
	}
	passed := 0
	for _, c := range report.Checks {
		if c.Outcome == conformance.Passed {
			passed++
		}
		for _, check := range conformance.Checks() {
			if check.ID == c.ID && check.Writes && c.Outcome != conformance.NotRun {
				t.Errorf("%s, which writes, is %s", c.ID, c.Outcome)
			}
		}
	}
	if passed < 5 {
		t.Errorf("only %d checks passed:\n%s", passed, out)
	}
	calls, err := operator.Calls(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	reads := false
	for _, c := range calls.Counters {
		reads = true
		if !regexp.MustCompile(`^(List|Get|Watch|Describe)`).MatchString(string(c.Call)) {
			t.Errorf("the provider called %s %d times", c.Call, c.Count)
		}
	}
	if got := inCloud(t, url); got != "instance worker-1, instance worker-2" || !reads {
		t.Errorf("in the cloud: %s; calls %v", got, calls.Counters)
	}
}

// A check of routes is not run if it would affect a route or a machine of others.
// The ledger still lists the objects that an earlier run has left.
func TestConformanceLeavesWhatIsNotItsOwn(t *testing.T) {
	url, config := simulatedCloud(t)
	operator := simulator.NewClient(url).Operator()
	worker, err := operator.CreateInstance(t.Context(), simulator.Instance{Name: "worker-1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []string{"10.251.0.0/21", "0.0.0.0/0"} { // A default route does not keep the check from running.
		if _, err := operator.CreateRoute(t.Context(), simulator.Route{Name: r, Destination: r, Target: worker.ID}); err != nil {
			t.Fatal(err)
		}
	}
	before := inCloud(t, url)
	t.Setenv(waitsShortly, "true")
	for name, row := range map[string]struct{ with, why string }{
		"RouteOfOthers":   {"--world=" + os.Args[0], "needs the addresses 10.251.1.0/24, but they overlap with "},
		"MachineOfOthers": {"--machine=worker-1", "needs a machine that the suite may create"},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := filepath.Join(t.TempDir(), "made.jsonl")
			old := `{"provider":"simulated"}` + "\n" + `{"begin":{"kind":"machine","name":"fl-old-a"}}` + "\n"
			if err := os.WriteFile(ledger, []byte(old), 0o600); err != nil {
				t.Fatal(err)
			}
			out, errs, _ := conform(t, plain, "--cloud-provider=simulated", "--cloud-config="+config, "--allow-writes", "--ledger="+ledger, row.with, "--run=routes/round-trip", "-o", "json")
			var report conformance.Report
			if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Checks) != 1 {
				t.Fatalf("error %v:\n%s%s", err, out, errs)
			}
			if c := report.Checks[0]; c.Outcome != conformance.NotRun || !strings.Contains(c.Why, row.why) {
				t.Errorf("%s: %s, want that it %s", c.Outcome, c.Why, row.why)
			}
			if want := "may be left in the cloud: 1. Remove them: conformance cleanup --ledger=" + ledger; !strings.Contains(errs, want) {
				t.Errorf("no %q in\n%s", want, errs)
			}
			if after := inCloud(t, url); after != before {
				t.Errorf("in the cloud: %s, want %s", after, before)
			}
		})
	}
}

// Most checks need a machine. If the flags name no machine, a message says how to
// name one.
func TestConformanceWithoutMachines(t *testing.T) {
	_, config := simulatedCloud(t)
	_, errs, code := conform(t, plain, "--cloud-provider=simulated", "--cloud-config="+config, "--run=instances/by-name")
	if code != 0 || !strings.Contains(errs, "No machine is named") || !strings.Contains(errs, "--machine=NAME") {
		t.Errorf("code %d:\n%s", code, errs)
	}
	_, errs, _ = conform(t, plain, "--cloud-provider=simulated", "--cloud-config="+config, "--run=instances/by-name", "--machine=a")
	if strings.Contains(errs, "No machine is named") {
		t.Errorf("although one is named:\n%s", errs)
	}
}

// The suite can run with a provider that has no cluster ID. Such a provider changes
// nothing unless a flag allows that.
func TestConformanceNeedsAClusterIDToWrite(t *testing.T) {
	o := plain
	o.Provider = func(context.Context, ProviderDeps) (cloudprovider.Interface, error) { return untagged{}, nil }
	usual := []string{"--cloud-provider=untagged", "--machine=a", "--run=instances/by-name"}
	for name, row := range map[string]struct {
		args    []string
		refused bool
	}{
		"Reads":   {nil, false},
		"Writes":  {[]string{"--allow-writes", "--ledger=" + filepath.Join(t.TempDir(), "made.jsonl")}, true},
		"Allowed": {[]string{"--allow-writes", "--ledger=" + filepath.Join(t.TempDir(), "made.jsonl"), "--allow-untagged-cloud"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs, code := conform(t, o, append(slices.Clone(usual), row.args...)...)
			if refused := code == usageCode && strings.Contains(errs, "--allow-untagged-cloud"); refused != row.refused {
				t.Errorf("code %d, refused %v, want %v:\n%s", code, refused, row.refused, errs)
			}
		})
	}
}

// untagged is a provider that cannot distinguish its own resources from those of
// others.
type untagged struct{ brokenCloud }

func (untagged) HasClusterID() bool   { return false }
func (untagged) ProviderName() string { return "untagged" }

// A check that reloads the configuration uses the content of the file that
// --cloud-config names.
func TestConformanceReloadsTheDaemonsConfiguration(t *testing.T) {
	_, config := simulatedCloud(t)
	p := newProgram(plain, nil)
	p.settings.Provider.Name, p.settings.Provider.ConfigFile = "simulated", config
	target, err := p.conformanceTarget(t.Context(), &conformanceFlags{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(config)
	if err != nil || target.Configuration == nil || target.Configuration(nil) != string(want) {
		t.Errorf("error %v, a configuration: %v", err, target.Configuration != nil)
	}
}

// Limits from flags replace the limits of the program's target. A limit whose flag is
// not set keeps its value.
func TestConformanceLimits(t *testing.T) {
	_, config := simulatedCloud(t)
	for name, row := range map[string]struct {
		flags conformanceLimits
		want  conformance.Target
	}{
		"OfTheProgram": {want: conformance.Target{PageSize: 1, MaxTargets: 2, MaxRoutes: 3, EventuallyWithin: 4 * time.Second}},
		"OfSomeFlags": {
			flags: conformanceLimits{maxTargets: 20, eventuallyWithin: 40 * time.Second},
			want:  conformance.Target{PageSize: 1, MaxTargets: 20, MaxRoutes: 3, EventuallyWithin: 40 * time.Second},
		},
		"OfAllFlags": {
			flags: conformanceLimits{pageSize: 10, maxTargets: 20, maxRoutes: 30, eventuallyWithin: 40 * time.Second},
			want:  conformance.Target{PageSize: 10, MaxTargets: 20, MaxRoutes: 30, EventuallyWithin: 40 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := plain
			o.Conformance = &conformance.Target{PageSize: 1, MaxTargets: 2, MaxRoutes: 3, EventuallyWithin: 4 * time.Second}
			p := newProgram(o, nil)
			p.settings.Provider.Name, p.settings.Provider.ConfigFile = "simulated", config
			got, err := p.conformanceTarget(t.Context(), &conformanceFlags{limits: row.flags})
			if err != nil {
				t.Fatal(err)
			}
			if got.PageSize != row.want.PageSize || got.MaxTargets != row.want.MaxTargets || got.MaxRoutes != row.want.MaxRoutes || got.EventuallyWithin != row.want.EventuallyWithin {
				t.Errorf("got %d, %d, %d, %v; want %d, %d, %d, %v", got.PageSize, got.MaxTargets, got.MaxRoutes, got.EventuallyWithin, row.want.PageSize, row.want.MaxTargets, row.want.MaxRoutes, row.want.EventuallyWithin)
			}
		})
	}
}

// A check that needs a limit is run if a flag sets it. Otherwise the report names the
// flag.
func TestConformanceTestsTheLimitsOfFlags(t *testing.T) {
	config, _, _ := holdableCloud(t, simulator.Config{PageSize: 1, MaxBackends: 1, MaxRoutes: 2})
	usual := []string{"--cloud-provider=simulated", "--cloud-config=" + config, "--allow-writes", "--world=" + os.Args[0], "--run=instances/pages,loadbalancers/too-many,routes/quota", "-o=json"}
	for name, row := range map[string]struct {
		args []string
		want conformance.Outcome
	}{
		"Without": {nil, conformance.NotRun},
		"With":    {[]string{"--page-size=1", "--max-targets=1", "--max-routes=2"}, conformance.Passed},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, _ := conform(t, plain, slices.Concat(usual, []string{"--ledger=" + filepath.Join(t.TempDir(), "made.jsonl")}, row.args)...)
			var report conformance.Report
			if err := json.Unmarshal([]byte(out), &report); err != nil || len(report.Checks) != 3 {
				t.Fatalf("error %v:\n%s%s", err, out, errs)
			}
			for _, c := range report.Checks {
				names := regexp.MustCompile("--(page-size|max-targets|max-routes)").MatchString(c.Why)
				if c.Outcome != row.want || names != (c.Outcome == conformance.NotRun) {
					t.Errorf("%s is %s: %s; want %s", c.ID, c.Outcome, c.Why, row.want)
				}
			}
		})
	}
}

func TestConformanceRefusesWhatMakesNoSense(t *testing.T) {
	_, config := simulatedCloud(t)
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	usual := []string{"--cloud-provider=simulated", "--cloud-config=" + config}
	for name, row := range map[string]struct {
		args []string
		want []string
	}{
		"NoProvider":        {nil, []string{"--cloud-provider cannot be empty"}},
		"Output":            {append(usual, "-o", "xml"), []string{`--output: "xml" is not text, json or yaml`}},
		"Profile":           {append(usual, "--profile=Disks"), []string{`--profile: there is no profile "Disks"`, "loadbalancers"}},
		"Run":               {append(usual, "--run=instances/x"), []string{`--run: there is no check "instances/x"`}},
		"Skip":              {append(usual, "--skip=x=y"), []string{`--skip: there is no check "x"`}},
		"SkipNoReason":      {append(usual, "--skip=instances/by-name"), []string{`--skip: "instances/by-name" has no reason; want ID=REASON`}},
		"SkipTwice":         {append(usual, "--skip=instances/by-name=a", "--skip=instances/by-name=b"), []string{`--skip: "instances/by-name" is given twice`}},
		"ExpectNoIssue":     {append(usual, "--expect-failure=instances/by-name="), []string{`--expect-failure: "instances/by-name=" has no issue`}},
		"ExpectNoCheck":     {append(usual, "--expect-failure=instances/x: a text=acme#1"), []string{`--expect-failure: there is no check "instances/x"`}},
		"ExpectNoText":      {append(usual, "--expect-failure=instances/by-name: =acme#1"), []string{`--expect-failure: "instances/by-name: =acme#1" has no text after the colon`}},
		"ExpectEquals":      {append(usual, "--expect-failure=instances/by-name: InstanceExists(a) = false=acme#1"), []string{`--expect-failure: `, `TEXT ends at the first "="`}},
		"ExpectAllAndOne":   {append(usual, "--expect-failure=instances/by-name=acme#1", "--expect-failure=instances/by-name: a text=acme#2"), []string{`--expect-failure: "instances/by-name: a text=acme#2" has no effect`}},
		"NoTime":            {append(usual, "--timeout=0s", "--check-timeout=-1s"), []string{"--timeout must be greater than 0", "--check-timeout must be greater than 0"}},
		"WorldToRead":       {append(usual, "--world=w"), []string{"--world needs --allow-writes"}},
		"WritesNoLedger":    {append(usual, "--allow-writes"), []string{"--allow-writes needs --ledger=FILE"}},
		"Limits":            {append(usual, "--page-size=-1", "--max-targets=-2", "--max-routes=-3", "--eventually-within=-4s"), []string{"--page-size must not be negative, but got -1", "--max-targets must not be negative, but got -2", "--max-routes must not be negative, but got -3", "--eventually-within must not be negative, but got -4s"}},
		"LimitsToRead":      {append(usual, "--max-targets=2", "--max-routes=3"), []string{"--max-targets has no effect without --allow-writes", "--max-routes has no effect without --allow-writes"}},
		"EventuallyTooLong": {append(usual, "--eventually-within=2m"), []string{"--eventually-within=2m0s must be less than --check-timeout=2m0s"}},
		"LimitIsNoNumber":   {append(usual, "--max-routes=many"), []string{`"many" for "--max-routes"`}},
		"LedgerToRead":      {append(usual, "--ledger=l"), []string{"--ledger has no effect without --allow-writes"}},
		"LedgerIsText":      {append(usual, "--allow-writes", "--ledger="+text), []string{"--ledger: " + text + ", line 1: this is no line of a ledger"}},
		"NoSuchWorld":       {append(usual, "--allow-writes", "--ledger="+filepath.Join(dir, "l"), "--world=/nonexistent"), []string{"--world: ", "/nonexistent"}},
		"NoConfig":          {[]string{"--cloud-provider=simulated", "--cloud-config=/nonexistent", "--machine=a"}, []string{"--cloud-config", "/nonexistent"}},
		"UnknownFlag":       {append(usual, "--wrld=x"), []string{"unknown flag: --wrld"}},
		"Argument":          {append(usual, "now"), []string{`got ["now"]`}},
		"CleanupNoLedger":   {append([]string{"cleanup"}, usual...), []string{"--ledger must be set"}},
		"CleanupNoFile":     {append([]string{"cleanup", "--ledger=/nonexistent"}, usual...), []string{"--ledger: ", "/nonexistent"}},
		"CompareOne":        {[]string{"compare", text}, []string{"compare needs two files"}},
		"CompareNoReports":  {[]string{"compare", text, filepath.Join(dir, "none")}, []string{text + " is no report", filepath.Join(dir, "none")}},
		"ListOutput":        {[]string{"list", "-o", "xml"}, []string{`--output: "xml" is not text or markdown`}},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, code := conform(t, plain, row.args...)
			if code != usageCode {
				t.Errorf("code %d, want %d:\n%s%s", code, usageCode, out, errs)
			}
			for _, want := range row.want {
				if !strings.Contains(errs, want) {
					t.Errorf("no %q in\n%s", want, errs)
				}
			}
		})
	}
}

func TestConformanceExitCodes(t *testing.T) {
	url, config := simulatedCloud(t)
	if _, err := simulator.NewClient(url).Operator().CreateInstance(t.Context(), simulator.Instance{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	usual := []string{"--cloud-provider=simulated", "--cloud-config=" + config, "--machine=a", "--run=instances/by-name"}
	for name, row := range map[string]struct {
		args []string
		want int
	}{
		"Passed":           {nil, 0},
		"Strict":           {[]string{"--strict", "--skip=instances/by-name=a reason"}, partialCode},
		"PassesUnexpected": {[]string{"--expect-failure=instances/by-name=acme#1"}, failedCode},
	} {
		t.Run(name, func(t *testing.T) {
			if out, errs, code := conform(t, plain, append(usual, row.args...)...); code != row.want {
				t.Errorf("code %d, want %d:\n%s%s", code, row.want, out, errs)
			}
		})
	}
}

// If one failure of a check is expected, any other failure still counts.
func TestConformanceExpectsOneFailure(t *testing.T) {
	t.Setenv(asBroken, "panics")
	for name, row := range map[string]struct {
		expected string
		want     int
	}{
		"TheWholeCheck": {"instances/by-name=acme#1", 0},
		"ThisFailure":   {"instances/by-name: panic: out of order=acme#1", 0},
		"AnotherOne":    {"instances/by-name: server not found=acme#1", failedCode},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, code := conform(t, brokenProvider("panics"), "--cloud-provider=broken", "--machine=a", "--run=instances/by-name", "--expect-failure="+row.expected)
			if code != row.want || !strings.Contains(out, "out of order") && row.want != 0 {
				t.Errorf("code %d, want %d:\n%s%s", code, row.want, out, errs)
			}
		})
	}
}

// Errors name flags as users type them. Some flags have a prefix, because the
// program has a flag of the same name.
func TestConformanceErrorsNameTheFlagsAsTyped(t *testing.T) {
	f := conformanceFlags{world: "w", machines: []string{"m"}, profiles: []string{"p"}, output: "xml", typed: func(name string) string { return "conformance-" + name }}
	other := conformanceFlags{allowWrites: true, typed: f.typed}
	f.limits = conformanceLimits{pageSize: -1, maxTargets: 2, maxRoutes: 3, eventuallyWithin: 4 * time.Minute}
	f.checkTimeout = time.Minute
	_, skipped := byID(f.typed.flag("skip"), "REASON", []string{"a"})
	_, _, unknown := (&conformanceFlags{run: []string{"x"}, expect: []string{"x: =a", "y: b = c=d"}, typed: f.typed}).options(nil, "")
	for _, err := range []error{f.validate(), other.validate(), skipped, unknown} {
		if err == nil {
			t.Fatal("no error")
		}
		for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(err.Error(), -1) {
			if !strings.HasPrefix(flag, "--conformance-") {
				t.Errorf("%s is not the name of a flag, in %v", flag, err)
			}
		}
	}
}
