package app

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-k8s/fairlead/provider/conformance"
	worlds "github.com/fairlead-k8s/fairlead/provider/conformance/simulated"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// Each row kills a check after the World has carried out an operation (a verb). The
// check may be killed before or after it gets the answer. In both cases, "conformance
// cleanup" restores the account to its state before the check.
func TestConformanceCleansUpWhatItsWorldHasCreated(t *testing.T) {
	for name, row := range map[string]struct {
		check, after string
		left         []string
	}{
		"LoadBalancerWithoutAnswer": {"loadbalancers/not-mine", "create-foreign", []string{"foreign loadBalancer "}},
		"LoadBalancer":              {"loadbalancers/not-mine", "foreign-exists", []string{"foreign loadBalancer "}},
		"RouteWithoutAnswer":        {"routes/not-mine", "create-foreign", []string{"foreign route 10.251.2.0/24"}},
		"Route":                     {"routes/not-mine", "create-machine", []string{"foreign route 10.251.2.0/24", "machine fl-"}},
		"AddressWithoutAnswer":      {"loadbalancers/static-ip-reserved", "reserve-address", []string{"address fl-"}},
		"Address":                   {"loadbalancers/static-ip-reserved", "create-machine", []string{"address fl-", "machine fl-"}},
	} {
		t.Run(name, func(t *testing.T) {
			url, config := simulatedCloud(t)
			operator := simulator.NewClient(url).Operator()
			if _, err := operator.CreateStaticIP(t.Context(), simulator.StaticIP{Name: "theirs"}); err != nil {
				t.Fatal(err)
			}
			before := inCloud(t, url)
			t.Setenv(waitsShortly, "true")
			usual := []string{"--cloud-provider=simulated", "--cloud-config=" + config, "--world=" + os.Args[0], "--ledger=" + filepath.Join(t.TempDir(), "made.jsonl")}
			t.Setenv(killsAfter, row.after)
			out, errs, code := conform(t, plain, append(slices.Clone(usual), "--allow-writes", patiently, "--run="+row.check)...)
			if code != failedCode && code != 0 || inCloud(t, url) == before || !strings.Contains(errs, "conformance cleanup --ledger=") {
				t.Fatalf("code %d, in the cloud: %s, want more than %s and a word about it:\n%s%s", code, inCloud(t, url), before, out, errs)
			}
			t.Setenv(killsAfter, "")
			for range 2 { // Cleanup may be repeated.
				out, errs, code = conform(t, plain, append([]string{"cleanup"}, usual...)...)
				if after := inCloud(t, url); code != 0 || after != before {
					t.Fatalf("code %d, in the cloud: %s, want %s:\n%s%s", code, after, before, out, errs)
				}
				for _, want := range row.left {
					if !strings.Contains(out, want) {
						t.Errorf("no %q in\n%s", want, out)
					}
				}
				row.left = nil
			}
		})
	}
}

// faultsIn returns the names of the faults that are set in the cloud.
func faultsIn(t *testing.T, url string) (names []string) {
	t.Helper()
	all, err := simulator.NewClient(url).Operator().Faults(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		names = append(names, f.Name)
	}
	return names
}

// If a check or a whole run is killed, its faults are removed. The faults of others
// stay.
func TestConformanceTakesAwayTheFaultsOfWhatWasKilled(t *testing.T) {
	url, config := simulatedCloud(t)
	operator := simulator.NewClient(url).Operator()
	if err := operator.SetFault(t.Context(), simulator.Fault{Name: "theirs", Kind: simulator.FaultError, Skip: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "made.jsonl")
	usual := []string{"--cloud-provider=simulated", "--cloud-config=" + config, "--world=" + os.Args[0], "--ledger=" + path}
	t.Setenv(killsAfter, "fault")
	out, errs, _ := conform(t, plain, append(slices.Clone(usual), "--allow-writes", patiently, "--run=instances/fault-is-error,instances/gone-by-id", "-o=json")...)
	var report conformance.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("error %v:\n%s", err, errs)
	}
	if got := outcomes(&report); got["instances/fault-is-error"] != conformance.Failed || got["instances/gone-by-id"] != conformance.Passed {
		t.Errorf("the check that was killed, and the one after it: %v", got)
	}
	if got := faultsIn(t, url); !slices.Equal(got, []string{"theirs"}) {
		t.Errorf("after the run: faults %v", got)
	}
	t.Setenv(killsAfter, "")
	// As after a run that was killed, only the ledger knows of the fault.
	ledger, err := conformance.ExistingLedger(path, "simulated")
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(ledger.Begin(conformance.Entry{Kind: conformance.KindFault, Name: string(conformance.FaultUnavailable)}), ledger.Close())
	if _, failed := worlds.At(url).SetFault(t.Context(), conformance.Fault{Kind: conformance.FaultUnavailable}); failed != nil || err != nil {
		t.Fatal(failed, err)
	}
	out, errs, code := conform(t, plain, append([]string{"cleanup"}, usual...)...)
	if got := faultsIn(t, url); code != 0 || !slices.Equal(got, []string{"theirs"}) || inCloud(t, url) != "" {
		t.Errorf("after cleanup: code %d, faults %v, in the cloud: %s\n%s%s", code, got, inCloud(t, url), out, errs)
	}
}

// holdsBy is the environment variable with the URL that the World calls to hold load
// balancers.
const holdsBy = "FAIRLEAD_TEST_HOLDS_BY"

// worldThatHolds is the World of a cloud in another process. It can keep new load
// balancers of that cloud from becoming ready.
type worldThatHolds struct {
	*worlds.World

	url string
}

func (w worldThatHolds) HoldLoadBalancers(ctx context.Context) (release func(), err error) {
	return func() {}, w.call(ctx, "/hold")
}

func (w worldThatHolds) ReleaseLoadBalancers(ctx context.Context) error {
	return w.call(ctx, "/release")
}

func (w worldThatHolds) call(ctx context.Context, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+path, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// holdableCloud is like simulatedCloud, but its World can hold load balancers. It also
// returns two functions. The first one begins a hold if the path is /hold, and
// otherwise ends the hold. The second one reports whether load balancers are held.
func holdableCloud(t *testing.T, like simulator.Config) (config string, change func(path string) error, is func() bool) {
	t.Helper()
	cloud, err := worlds.New(t.Context(), like)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() }) // the test is over
	var mu sync.Mutex
	var release func() // guarded by mu; nil while nothing is held
	control := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.URL.Path == "/hold":
			release, _ = cloud.HoldLoadBalancers(r.Context()) // This cannot fail here.
		case release != nil:
			release()
			release = nil
		}
	}))
	t.Cleanup(control.Close)
	t.Setenv(asWorld, cloud.URL())
	t.Setenv(holdsBy, control.URL)
	config = filepath.Join(t.TempDir(), "cloud.yaml")
	if err := os.WriteFile(config, []byte("endpoint: "+cloud.URL()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	change = func(path string) error { return worldThatHolds{url: control.URL}.call(t.Context(), path) }
	return config, change, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return release != nil
	}
}

// A World that is an executable can hold load balancers, like a World in Go. If a
// check or a whole run is killed, the load balancers are released.
func TestConformanceHoldsLoadBalancersByExecutable(t *testing.T) {
	config, change, held := holdableCloud(t, simulator.Config{})
	path := filepath.Join(t.TempDir(), "made.jsonl")
	usual := []string{"--cloud-provider=simulated", "--cloud-config=" + config, "--world=" + os.Args[0], "--ledger=" + path}
	run := func(checks string) map[string]conformance.Outcome {
		t.Helper()
		out, errs, _ := conform(t, plain, append(slices.Clone(usual), "--allow-writes", patiently, "--run="+checks, "-o=json")...)
		var report conformance.Report
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("error %v:\n%s", err, errs)
		}
		if held() {
			t.Errorf("load balancers are held after the run:\n%s", errs)
		}
		return outcomes(&report)
	}
	got := run("loadbalancers/not-blocking,loadbalancers/delete-pending")
	if d := cmp.Diff(map[string]conformance.Outcome{"loadbalancers/not-blocking": conformance.Passed, "loadbalancers/delete-pending": conformance.Passed}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	t.Setenv(killsAfter, "hold-load-balancers")
	got = run("loadbalancers/not-blocking,loadbalancers/create")
	if d := cmp.Diff(map[string]conformance.Outcome{"loadbalancers/not-blocking": conformance.Failed, "loadbalancers/create": conformance.Passed}, got); d != "" {
		t.Errorf("one check was killed (-want +got):\n%s", d)
	}
	t.Setenv(killsAfter, "")
	// As after a run that was killed, only the ledger knows of the hold.
	ledger, err := conformance.ExistingLedger(path, "simulated")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(ledger.Begin(conformance.Entry{Kind: conformance.KindHold, Name: "loadBalancers"}), ledger.Close(), change("/hold")); err != nil {
		t.Fatal(err)
	}
	out, errs, code := conform(t, plain, append([]string{"cleanup"}, usual...)...)
	if code != 0 || held() || !strings.Contains(out, "hold loadBalancers: released\n") {
		t.Errorf("after cleanup: code %d, held %v\n%s%s", code, held(), out, errs)
	}
}

// A run and "cleanup" refuse the ledger of another account, and touch nothing. Objects
// of this account may have the same names and IDs as the objects in the ledger.
func TestConformanceRefusesTheLedgerOfAnotherAccount(t *testing.T) {
	url, config := simulatedCloud(t)
	if _, err := simulator.NewClient(url).Operator().CreateInstance(t.Context(), simulator.Instance{Name: "fl-1-a"}); err != nil {
		t.Fatal(err)
	}
	const theirs = "the account of /etc/other.conf (0123456789ab)"
	before := inCloud(t, url)
	world, run := "--world="+os.Args[0], []string{"--allow-writes", "--run=instances/by-name"}
	for name, row := range map[string]struct {
		args []string
		want []string // nothing if the ledger is accepted
	}{
		"CleanupByWorld":     {[]string{"cleanup", world}, []string{"created in " + theirs, "this is the simulated cloud at " + url, "nothing was touched"}},
		"CleanupByAnother":   {[]string{"cleanup", world, "--account=" + theirs}, []string{"this is the simulated cloud at " + url}},
		"CleanupByConfig":    {[]string{"cleanup"}, []string{"created in " + theirs, "this is the account of " + config + " (", `pass --account="` + theirs + `"`}},
		"CleanupOfTheSame":   {[]string{"cleanup", "--account=" + theirs}, nil},
		"RunByWorld":         {append(run, world), []string{"created in " + theirs, "this is the simulated cloud at " + url}},
		"RunByConfiguration": {run, []string{"created in " + theirs, "this is the account of " + config + " (", `pass --account="` + theirs + `"`}},
	} {
		t.Run(name, func(t *testing.T) {
			ledger := filepath.Join(t.TempDir(), "made.jsonl")
			old := `{"provider":"simulated"}` + "\n" + `{"account":"` + theirs + `"}` + "\n" + `{"begin":{"kind":"machine","name":"fl-1-a"}}` + "\n"
			if err := os.WriteFile(ledger, []byte(old), 0o600); err != nil {
				t.Fatal(err)
			}
			out, errs, code := conform(t, plain, append(slices.Clone(row.args), "--cloud-provider=simulated", "--cloud-config="+config, "--ledger="+ledger)...)
			if refused := code == usageCode; refused != (row.want != nil) || inCloud(t, url) != before {
				t.Errorf("code %d, in the cloud: %s, want %s\n%s%s", code, inCloud(t, url), before, out, errs)
			}
			for _, want := range row.want {
				if !strings.Contains(errs, want) {
					t.Errorf("no %q in\n%s", want, errs)
				}
			}
		})
	}
}

// The name of a configuration's account stays the same if the secrets in the
// configuration are replaced.
func TestAccountOfAConfiguration(t *testing.T) {
	dir := t.TempDir()
	account := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := accountOf(file)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for name, row := range map[string]struct {
		before, after string
		same          bool
	}{
		"YAML":        {"region: a\ntoken: one\n", "region: a\ntoken: two\n", true},
		"JSON":        {`{"clientSecret": "one", "region": "a"}`, `{"clientSecret": "two", "region": "a"}`, true},
		"INI":         {"[Global]\npassword = one\nregion=a\n", "[Global]\npassword = two\nregion=a\n", true},
		"PEM":         {"cert: |\n  -----BEGIN A-----\n  one\n  -----END A-----\n", "cert: |\n  -----BEGIN A-----\n  two\n  -----END A-----\n", true},
		"URL":         {"proxy: https://u:one@proxy\n", "proxy: https://u:two@proxy\n", true},
		"Region":      {"region: a\ntoken: one\n", "region: b\ntoken: one\n", false},
		"BesideAJSON": {`{"clientSecret": "one", "region": "a"}`, `{"clientSecret": "one", "region": "b"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if before, after := account("cloud", row.before), account("cloud", row.after); (before == after) != row.same {
				t.Errorf("before %s, after %s", before, after)
			}
		})
	}
	if one, other := account("one", "region: a"), account("other", "region: a"); one == other {
		t.Errorf("two files: %s", one)
	}
	if _, err := accountOf(filepath.Join(dir, "none")); err == nil || !strings.Contains(err.Error(), "--cloud-config: ") {
		t.Errorf("no file: %v", err)
	}
	if got, err := accountOf(""); got == "" || err != nil {
		t.Errorf("without a file: %q, %v", got, err)
	}
}

// After a loss of power, the ledger may end with half a line or with zero bytes.
func TestConformanceReadsALedgerAsFarAsItGoes(t *testing.T) {
	url, config := simulatedCloud(t)
	for name, end := range map[string]string{
		"Half":  `{"begin":{"kind":"machine","na`,
		"Zeros": "\x00\x00\x00\x00",
		"Both":  `{"begin":{"kind":"machine","na` + "\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := simulator.NewClient(url).Operator().CreateInstance(t.Context(), simulator.Instance{Name: "fl-1-a"}); err != nil {
				t.Fatal(err)
			}
			ledger := filepath.Join(t.TempDir(), "made.jsonl")
			text := `{"provider":"simulated"}` + "\n\n" + `{"begin":{"kind":"machine","name":"fl-1-a"}}` + "\n\n" + end
			if err := os.WriteFile(ledger, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // In the second run, the line that was cut off is in the middle.
				out, errs, code := conform(t, plain, "cleanup", "--cloud-provider=simulated", "--cloud-config="+config, "--world="+os.Args[0], "--ledger="+ledger)
				if want := "Warning: " + ledger + ", line 5: the line was cut off"; code != 0 || inCloud(t, url) != "" || !strings.Contains(errs, want) {
					t.Errorf("code %d, in the cloud: %s, want nothing and %q:\n%s%s", code, inCloud(t, url), want, out, errs)
				}
			}
		})
	}
}
