package conformance

import (
	"fmt"
	"runtime/debug"
	"strings"
)

// Report is the result of a run.
type Report struct {
	Result Verdict
	// Checks are in the order of the run.
	Checks []CheckResult
	// Singleton means that the provider can be made only once in a process. Then each check
	// has run in a process of its own, and a check that restarts the provider cannot pass.
	Singleton bool

	missing []string // why the result is not Success, although no core check has failed
}

// Verdict is the result of a run.
type Verdict string

// The verdicts.
const (
	// Success means that the race detector was on, that each core check has passed or is
	// Unsupported, and that at least one has passed.
	Success Verdict = "success"
	// Partial means that no core check has failed unexpectedly, but success is not proved.
	// Either a core check was not run, was skipped or has failed as expected, or the race
	// detector was off.
	Partial Verdict = "partial"
	// Failure means that a core check has failed unexpectedly.
	Failure Verdict = "failure"
	// Nothing means that no core check has passed or failed.
	Nothing Verdict = "notRun"
)

// CheckResult is the result of one check.
type CheckResult struct {
	Check

	Outcome Outcome
	// Why describes the calls that failed, or says why the check was not run.
	Why string
	// Issue is the issue that tracks an expected failure. Several issues are separated by
	// commas.
	Issue        string
	Measurements map[string]float64
	// Leftovers are the resources that the provider or the suite has left in the cloud.
	Leftovers []Resource
}

// Outcome is the outcome of a check.
type Outcome string

// The outcomes.
const (
	Passed Outcome = "passed"
	Failed Outcome = "failed"
	// ExpectedFailure is a failure that Options.ExpectFailure lists.
	ExpectedFailure Outcome = "expectedFailure"
	// Skipped means that Options.Skip lists the check.
	Skipped Outcome = "skipped"
	// NotRun means that the world or the target lacks something, or that the run ended
	// before the check.
	NotRun Outcome = "notRun"
	// Unsupported means that the provider does not offer what the check tests, or
	// that the target declares it as unsupported.
	Unsupported Outcome = "unsupported"
)

// newReport returns the report of a run. The last argument reports whether the race detector
// was on.
func newReport(checks []CheckResult, race bool) *Report { //nolint:revive // a fact and not a mode
	core := map[Outcome]int{}
	for _, c := range checks {
		if c.Level == Core {
			core[c.Outcome]++
		}
	}
	r := &Report{Checks: checks, Result: Success}
	if !race {
		r.missing = append(r.missing, "the suite was built without -race")
	}
	for _, o := range []struct {
		outcome Outcome
		text    string
	}{{NotRun, "not run"}, {Skipped, "skipped"}, {ExpectedFailure, "expected to fail"}} {
		if n := core[o.outcome]; n > 0 {
			r.missing = append(r.missing, fmt.Sprintf("core checks %s: %d", o.text, n))
		}
	}
	switch {
	case core[Failed] > 0:
		r.Result, r.missing = Failure, []string{fmt.Sprintf("core checks failed: %d", core[Failed])}
	case core[Passed]+core[ExpectedFailure] == 0:
		r.Result, r.missing = Nothing, []string{"no core check was run"}
	case len(r.missing) > 0:
		r.Result = Partial
	}
	return r
}

// report returns the report of the run.
func (s *suite) report() *Report {
	r := newReport(s.results, race())
	r.Singleton = s.facts.Singleton
	return r
}

// verdict returns the result in words.
func (r *Report) verdict() string {
	text := string(r.Result) + ": " + strings.Join(r.missing, "; ")
	if r.Result == Success {
		text = "success: all core checks passed"
	}
	if r.Singleton {
		text += "; the provider can be made only once in a process, so each check had its own"
	}
	return text
}

// race reports whether this program was built with the race detector.
func race() bool {
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}
