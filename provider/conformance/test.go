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
// child process with the same test binary, where Test does not return. With -v, the last
// line of the log is the result.
func Test(t *testing.T, target Target, options Options) *Report {
	t.Helper()
	s, err := newSuite(target, options, func(ctx context.Context) *exec.Cmd {
		name := "^" + strings.ReplaceAll(t.Name(), "/", "$/^") + "$"
		return exec.CommandContext(ctx, os.Args[0], "-test.run="+name, "-test.count=1") //nolint:gosec // this binary and one of its tests
	})
	if err != nil {
		t.Fatal(err)
	}
	if id := childOf(); id != "" {
		if err := s.runAsChild(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		t.Skip("this process is for the check " + id)
	}
	defer s.close()
	for _, check := range s.checks {
		t.Run(check.ID, func(t *testing.T) {
			result, err := s.run(t.Context(), check)
			if err != nil {
				t.Fatal(err)
			}
			tell(t, result)
		})
	}
	report := s.report()
	t.Log("Result: " + report.verdict())
	return report
}

// tell passes the result of a check to its subtest.
func tell(t *testing.T, r CheckResult) {
	t.Helper()
	for key, value := range r.Measurements {
		t.Logf("%s: %v", key, value)
	}
	if len(r.Leftovers) > 0 {
		t.Logf("left in the cloud: %s", resourcesText(r.Leftovers))
	}
	switch r.Outcome {
	case Failed:
		if r.Level == Measured {
			t.Log(r.Why)
			return
		}
		t.Errorf("%s (%s)\n%s\nThe contract: %s\nWhat it costs: %s", r.Title, r.Level, r.Why, r.Source, r.Cost)
	case ExpectedFailure:
		t.Skipf("expected to fail (%s): %s", r.Issue, r.Why)
	case Skipped, NotRun, Unsupported:
		t.Skipf("%s: %s", r.Outcome, r.Why)
	case Passed:
	}
}
