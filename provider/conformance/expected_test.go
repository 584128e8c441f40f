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
)

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
			result := judged{CheckResult{Outcome: Passed}, row.failures}
			if len(row.failures) > 0 {
				result.Outcome, result.Why = Failed, strings.Join(row.failures, "\n")
			}
			got := result.compare((&suite{expected: expected}).expectedOf(Check{ID: id}))
			if d := cmp.Diff(CheckResult{Outcome: row.want, Why: row.why, Issue: row.issue}, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// A child process reports each failure of its check, or exits without a report. Both can be
// expected failures.
func TestExpectedFailuresOfAChild(t *testing.T) {
	const id = "process/stop"
	for name, row := range map[string]struct {
		child  string
		expect []string
		want   Outcome
	}{
		"OneOfTwo":      {`printf %s '{"result": {"result": "failed", "why": "a\nb"}, "failures": ["a", "b"]}' >"$` + childResult + `"`, []string{id + ": a"}, Failed},
		"BothOfTwo":     {`printf %s '{"result": {"result": "failed", "why": "a\nb"}, "failures": ["a", "b"]}' >"$` + childResult + `"`, []string{id + ": a", id + ": b"}, ExpectedFailure},
		"EndsAsKnown":   {"echo no quota; exit 7", []string{id + ": no quota"}, ExpectedFailure},
		"EndsOtherwise": {"echo no quota; exit 7", []string{id + ": no network"}, Failed},
	} {
		t.Run(name, func(t *testing.T) {
			expect := map[string]string{}
			for _, key := range row.expect {
				expect[key] = "#1"
			}
			report, err := Run(t.Context(), stubbed(), Options{
				Only: []string{id}, ExpectFailure: expect,
				Child: func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, "sh", "-c", row.child) },
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := report.Checks[0]; got.Outcome != row.want || got.Source == "" {
				t.Errorf("got %s: %s; want %s", got.Outcome, got.Why, row.want)
			}
		})
	}
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
				s, err := newSuite(stubbed(), Options{Timeout: 400 * time.Millisecond, ExpectFailure: map[string]string{id + ": fault hang": "#1"}})
				if err != nil {
					t.Fatal(err)
				}
				check := Check{ID: id, run: func(t *trial) {
					t.errorf("fault hang: false, nil")
					row.then(t)
				}}
				found, err := s.try(t.Context(), check)
				if err != nil {
					t.Fatal(err)
				}
				if got := found.compare(s.expectedOf(check)); got.Outcome != row.want || !strings.Contains(got.Why, row.why) {
					t.Errorf("got %s: %s; want %s: %s", got.Outcome, got.Why, row.want, row.why)
				}
			})
		})
	}
}

// If the process has logged a secret, the check fails, even if the failure that it reports
// is expected.
func TestExpectedFailuresHideNoSecret(t *testing.T) {
	const id = "process/no-secrets"
	target := stubbed()
	target.Secrets = []string{"s3cret"}
	report, err := Run(t.Context(), target, Options{
		Only: []string{id}, ExpectFailure: map[string]string{id + ": InstanceExists: the error": "#1"},
		Child: func(ctx context.Context) *exec.Cmd {
			return exec.CommandContext(ctx, "sh", "-c", `echo token s3cret; printf %s '{"result": {"result": "failed"}, "failures": ["InstanceExists: the error has secret 1"]}' >"$`+childResult+`"`)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := report.Checks[0]; got.Outcome != Failed || !strings.HasPrefix(got.Why, "a log line has secret 1") {
		t.Errorf("got %s: %s", got.Outcome, got.Why)
	}
}
