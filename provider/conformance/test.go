package conformance

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Test runs the suite and returns the report. Each check has a subtest, such as
// TestConformance/instances/gone-by-id. If a check is not run, or fails as expected, its
// subtest is skipped. If the provider may end the process in a check, the check runs in a
// child process with the same test binary. With -v, the last line of the log is the result.
func Test(t *testing.T, target Target, options Options) *Report {
	t.Helper()
	if options.Child == nil {
		options.Child = func(ctx context.Context) *exec.Cmd {
			name := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
			return exec.CommandContext(ctx, os.Args[0], "-test.run="+name, "-test.count=1") //nolint:gosec // this binary and one of its tests
		}
	}
	if childOf() != "" {
		report, err := Run(t.Context(), target, options)
		if err != nil {
			t.Fatal(err)
		}
		return report
	}
	s, err := newSuite(target, options)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for _, check := range s.checks {
		t.Run(check.ID, func(t *testing.T) {
			result, err := s.run(t.Context(), check)
			if err != nil {
				t.Fatal(err)
			}
			tell(t, check, result)
		})
	}
	report := s.report()
	t.Log("Result: " + report.verdict())
	return report
}

// tell passes the result of a check to its subtest.
func tell(t *testing.T, check Check, result CheckResult) {
	t.Helper()
	for key, value := range result.Measurements {
		t.Logf("%s: %v", key, value)
	}
	switch result.Outcome {
	case Failed:
		if check.Level != Measured {
			t.Errorf("%s (%s)\n%s\nThe contract: %s\nWhat it costs: %s", check.Title, check.Level, result.Why, check.Source, check.Cost)
			return
		}
		t.Log(result.Why)
	case ExpectedFailure:
		t.Skipf("expected to fail (%s): %s", result.Issue, result.Why)
	case Skipped, NotRun, Unsupported:
		t.Skipf("%s: %s", result.Outcome, result.Why)
	case Passed:
	}
}
