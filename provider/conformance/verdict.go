package conformance

import (
	"strconv"
	"strings"
)

// verdict returns the result in words.
func (r *Report) verdict() string {
	switch r.Result {
	case Failure:
		return "failure: " + counted(r.CoreFailures(), "core check") + " failed"
	case Partial:
		return "partial: no core check failed unexpectedly; " + strings.Join(r.missing(), "; ")
	case Nothing:
		return "nothing: no core check was run"
	case Success:
	}
	return "success: all core checks passed"
}

// missing returns the reasons why a report is only partial.
func (r *Report) missing() []string {
	var all []string
	if !r.race {
		all = append(all, "the suite was built without -race")
	}
	for _, o := range []struct {
		outcome Outcome
		text    string
	}{{NotRun, "not run"}, {Skipped, "skipped"}, {ExpectedFailure, "expected to fail"}} {
		n := 0
		for _, c := range r.Checks {
			if c.Level == Core && c.Outcome == o.outcome {
				n++
			}
		}
		if n > 0 {
			all = append(all, counted(n, "core check")+" "+o.text)
		}
	}
	return all
}

// CoreFailures returns the number of core checks that have failed.
func (r *Report) CoreFailures() int {
	failed := 0
	for _, p := range r.Profiles {
		failed += p.Core.Failed
	}
	return failed
}

// counted returns a number of things, such as "2 checks".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
