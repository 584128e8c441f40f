package conformance

import (
	"context"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	cloudprovider "k8s.io/cloud-provider"
)

// stub is a provider that no check asks anything.
type stub struct{ cloudprovider.Interface }

// stubbed returns a target whose provider is a stub. It has no world.
func stubbed() Target {
	return Target{Name: "acme", New: func(context.Context, any) (cloudprovider.Interface, error) { return stub{}, nil }}
}

// A result that is not a success says what is missing.
func TestVerdict(t *testing.T) {
	core := func(o Outcome) CheckResult { return CheckResult{Check: Check{Level: Core}, Outcome: o} }
	extended := func(o Outcome) CheckResult { return CheckResult{Check: Check{Level: Extended}, Outcome: o} }
	for name, row := range map[string]struct {
		race   bool
		checks []CheckResult
		want   string
	}{
		"Success": {race: true, checks: []CheckResult{core(Passed), core(Unsupported), extended(Failed)}, want: "success: all core checks passed"},
		"Failure": {checks: []CheckResult{core(Passed), core(Failed), core(Skipped)}, want: "failure: core checks failed: 1"},
		"Nothing": {race: true, checks: []CheckResult{core(NotRun), extended(Passed)}, want: "notRun: no core check was run"},
		"NoRace":  {checks: []CheckResult{core(Passed), extended(Skipped)}, want: "partial: the suite was built without -race"},
		"NotRun":  {race: true, checks: []CheckResult{core(Passed), core(NotRun), core(NotRun)}, want: "partial: core checks not run: 2"},
		"Skipped": {race: true, checks: []CheckResult{core(Passed), core(Skipped), extended(Skipped)}, want: "partial: core checks skipped: 1"},
		"All": {
			checks: []CheckResult{core(ExpectedFailure), core(Skipped), core(NotRun)},
			want:   "partial: the suite was built without -race; core checks not run: 1; core checks skipped: 1; core checks expected to fail: 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newReport(row.checks, row.race).verdict(); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

// The outcome of a check depends on its failures and on the expected failures.
func TestExpectedFailures(t *testing.T) {
	const id = "instances/by-id"
	const world = "world: set fault hang: no answer"
	hang, reset := "fault hang: InstanceExists = false, nil; want an error", "fault reset: panic: out of order\nmain.go:7"
	for name, row := range map[string]struct {
		failures []string
		expect   map[string]string
		want     Outcome
		why      string
		issue    string
	}{
		"NothingIsExpected": {failures: []string{hang}, want: Failed, why: hang},
		"OfAnotherCheck":    {failures: []string{hang}, expect: map[string]string{"instances/by-name": "#1"}, want: Failed, why: hang},
		"WholeCheck":        {failures: []string{hang, reset}, expect: map[string]string{id: "#1"}, want: ExpectedFailure, why: hang + "\n" + reset, issue: "#1"},
		"OneFailure":        {failures: []string{hang}, expect: map[string]string{id + ": fault hang": "#1"}, want: ExpectedFailure, why: hang, issue: "#1"},
		"TextOfItsLastLine": {failures: []string{reset}, expect: map[string]string{id + ": main.go": "#1"}, want: ExpectedFailure, why: reset, issue: "#1"},
		"NoSpaceIsNeeded":   {failures: []string{hang}, expect: map[string]string{id + ":fault hang": "#1"}, want: ExpectedFailure, why: hang, issue: "#1"},
		"OneTextForBoth":    {failures: []string{hang, reset}, expect: map[string]string{id + ": fault": "#1"}, want: ExpectedFailure, why: hang + "\n" + reset, issue: "#1"},
		"BothFailures": {
			failures: []string{hang, reset}, expect: map[string]string{id + ": fault hang": "#1", id + ": fault reset": "#2"},
			want: ExpectedFailure, why: hang + "\n" + reset, issue: "#1, #2",
		},
		"BothOfOneIssue": {
			failures: []string{hang, reset}, expect: map[string]string{id + ": fault hang": "#1", id + ": fault reset": "#1"},
			want: ExpectedFailure, why: hang + "\n" + reset, issue: "#1",
		},
		"AnotherFailure": {
			failures: []string{hang}, expect: map[string]string{id + ": fault reset": "#1"},
			want: Failed, why: hang, issue: "#1",
		},
		"AnotherFailureToo": {
			failures: []string{hang, reset}, expect: map[string]string{id + ": fault hang": "#1"},
			want: Failed, why: reset + "\nexpected (#1): " + hang, issue: "#1",
		},
		"FailureThatIsMissing": {
			failures: []string{hang}, expect: map[string]string{id + ": fault hang": "#1", id + ": fault reset": "#2"},
			want: Failed, why: `no failure has the text "fault reset" any more: remove it from the list of expected failures (#2)` + "\nexpected (#1): " + hang, issue: "#1, #2",
		},
		"FailureOfTheWorld":        {failures: []string{world}, expect: map[string]string{id + ": fault hang": "#1"}, want: Failed, why: world, issue: "#1"},
		"FailureOfTheWorldIsNamed": {failures: []string{world}, expect: map[string]string{id + ": world: set fault": "#1"}, want: ExpectedFailure, why: world, issue: "#1"},
		"WholeCheckAlsoOfTheWorld": {failures: []string{world}, expect: map[string]string{id: "#1"}, want: ExpectedFailure, why: world, issue: "#1"},
		"Passes":                   {expect: map[string]string{id + ": fault hang": "#1"}, want: Failed, why: "it passes now: remove it from the list of expected failures", issue: "#1"},
	} {
		t.Run(name, func(t *testing.T) {
			expected, err := Options{ExpectFailure: row.expect}.expectations()
			if err != nil {
				t.Fatal(err)
			}
			found := finding{Outcome: Passed}
			if len(row.failures) > 0 {
				found = finding{Outcome: Failed, Why: row.failures}
			}
			got := found.compare(Check{ID: id}, expected)
			if got.Outcome != row.want || got.Why != row.why || got.Issue != row.issue {
				t.Errorf("got %s: %s (%s); want %s: %s (%s)", got.Outcome, got.Why, got.Issue, row.want, row.why, row.issue)
			}
		})
	}
}

// A check in a child process fails if the child ends without a result, or if its output
// shows a secret or a data race. An expected failure hides none of these.
func TestChild(t *testing.T) {
	const id, result = "process/stop", `>"$` + childResult + `"`
	twoFailures := `printf %s '{"Outcome": "failed", "Why": ["a", "b"]}' ` + result
	for name, row := range map[string]struct {
		id     string
		child  string
		expect []string
		want   Outcome
		why    string
	}{
		"OneOfTwo":      {child: twoFailures, expect: []string{": a"}, want: Failed, why: "b\nexpected (#1): a"},
		"BothOfTwo":     {child: twoFailures, expect: []string{": a", ": b"}, want: ExpectedFailure, why: "a\nb"},
		"EndsAsKnown":   {child: "echo no quota; exit 7", expect: []string{": no quota"}, want: ExpectedFailure, why: "the provider has ended the process (exit status 7)"},
		"EndsOtherwise": {child: "echo no quota; exit 7", expect: []string{": no network"}, want: Failed, why: "the provider has ended the process (exit status 7)"},
		"TellsASecret": {
			id: "process/no-secrets", child: `echo token s3cret; printf %s '{"Outcome": "failed", "Why": ["InstanceExists: secret 1"]}' ` + result,
			expect: []string{": InstanceExists"}, want: Failed, why: "a log line has secret 1",
		},
		"Races": {
			child: `printf '==================\nWARNING: DATA RACE\nWrite at 0x1 by goroutine 7:\n==================\n' >&2
echo '{"Outcome": "passed"}' ` + result + `; exit 66`,
			want: Failed, why: "the race detector has found a data race:\nWrite at 0x1 by goroutine 7:",
		},
	} {
		t.Run(name, func(t *testing.T) {
			target := stubbed()
			target.Secrets = []string{"s3cret"}
			options := Options{Only: []string{id}, ExpectFailure: map[string]string{}}
			if row.id != "" {
				options.Only[0] = row.id
			}
			for _, text := range row.expect {
				options.ExpectFailure[options.Only[0]+text] = "#1"
			}
			report, err := RunSuite(t.Context(), target, options, func(ctx context.Context) *exec.Cmd {
				return exec.CommandContext(ctx, "sh", "-c", row.child)
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := report.Checks[0]; got.Outcome != row.want || !strings.HasPrefix(got.Why, row.why) {
				t.Errorf("got %s: %s; want %s: %s", got.Outcome, got.Why, row.want, row.why)
			}
		})
	}
}

// try runs a check on its own.
func try(t *testing.T, target Target, options Options, check Check) (CheckResult, error) {
	t.Helper()
	s, err := newSuite(target, options, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.try(t.Context(), check)
	return found.compare(check, s.expected), err
}

// After an expected failure the provider may end the goroutine of the check, or the check
// may take too long. The result then says so, unless the check itself explains its end.
func TestExpectedFailuresHideNoEarlyEnd(t *testing.T) {
	const id = "instances/by-id"
	tooLong := func(t *trial) {
		<-t.ctx.Done()
		time.Sleep(50 * time.Millisecond) // until the method guard has seen that the time is over
	}
	for name, row := range map[string]struct {
		then func(*trial)
		want Outcome
		why  string
	}{
		"Returns":       {func(*trial) {}, ExpectedFailure, ""},
		"EndsItself":    {func(t *trial) { t.failf("fault hang, too") }, ExpectedFailure, ""},
		"EndsRoutine":   {func(*trial) { runtime.Goexit() }, Failed, "runtime.Goexit"},
		"TakesTooLong":  {tooLong, Failed, "not finished in time"},
		"EndsInTheEnd":  {func(t *trial) { tooLong(t); t.failf("fault hang: %v", t.ctx.Err()) }, ExpectedFailure, ""},
		"PanicsLate":    {func(t *trial) { tooLong(t); panic("fault hang") }, ExpectedFailure, ""},
		"CleanupEndsIt": {func(t *trial) { t.cleanup("x", func(context.Context) error { runtime.Goexit(); return nil }) }, Failed, "cleanup: x: the provider has ended"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				options := Options{Timeout: 400 * time.Millisecond, ExpectFailure: map[string]string{id + ": fault hang": "#1"}}
				got, err := try(t, stubbed(), options, Check{ID: id, run: func(t *trial) {
					t.errorf("fault hang: false, nil")
					row.then(t)
				}})
				if err != nil || got.Outcome != row.want || !strings.Contains(got.Why, row.why) {
					t.Errorf("got %s: %s, error %v; want %s: %s", got.Outcome, got.Why, err, row.want, row.why)
				}
			})
		})
	}
}

// A world may name the backends of a load balancer by its own machine IDs, or by
// provider IDs.
func TestBackendsAreKnownByTheIDsOfTheWorld(t *testing.T) {
	b := balancing{known: map[string]string{"i-1": "acme://r/i-1"}}
	if d := cmp.Diff([]string{"acme://r/i-1", "acme://r/i-2"}, b.byProviderID([]string{"i-1", "acme://r/i-2"})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
