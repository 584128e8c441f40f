package conformance

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// expectation is an entry of Options.ExpectFailure.
type expectation struct {
	id string // of the check
	// text is a part of the expected failure's text. If it is empty, every failure of the
	// check is expected.
	text  string
	issue string
}

// ofWorld is the prefix of a failure of the world, such as "world: set fault garbage: …".
const ofWorld = "world: "

// covers reports whether the failure is expected. A failure of the world says nothing
// about the provider. So an expectation covers it only if its text is empty or begins
// with ofWorld.
func (e expectation) covers(failure string) bool {
	if e.text != "" && strings.HasPrefix(failure, ofWorld) && !strings.HasPrefix(e.text, ofWorld) {
		return false
	}
	return strings.Contains(failure, e.text)
}

// expectationOf reads a key of Options.ExpectFailure.
func expectationOf(key, issue string) (expectation, error) {
	id, text, named := strings.Cut(key, ":")
	e := expectation{id: id, text: strings.TrimSpace(text), issue: issue}
	if named && e.text == "" {
		return e, fmt.Errorf("check %s: say after the colon which failure is expected, or leave out the colon for all of them", id)
	}
	return e, nil
}

// expectations returns the entries of ExpectFailure, in order.
func (o Options) expectations() ([]expectation, error) {
	var all []expectation
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(o.ExpectFailure)) {
		e, err := expectationOf(key, o.ExpectFailure[key])
		switch _, whole := o.ExpectFailure[e.id]; {
		case err != nil:
			problems = append(problems, err)
		case whole && e.text != "":
			problems = append(problems, fmt.Errorf("check %s: all its failures are expected, so %q has no effect", e.id, key))
		}
		all = append(all, e)
	}
	return all, errors.Join(problems...)
}

// compare compares the result of a check with the expected failures, and returns the
// result for the report.
func (r judged) compare(expected []expectation) CheckResult {
	result := r.CheckResult
	if len(expected) == 0 {
		return result
	}
	result.Issue = issuesOf(expected)
	switch result.Outcome {
	case Failed:
		result.Outcome, result.Why = r.compareFailures(expected)
	case Passed:
		result.Outcome, result.Why = Failed, "it passes now: remove it from the list of expected failures"
	case ExpectedFailure, Skipped, NotRun, Unsupported:
	}
	return result
}

// compareFailures returns the outcome of a check that has failed. The outcome stays
// Failed if there was an unexpected failure, or if an expected failure is missing.
func (r judged) compareFailures(expected []expectation) (o Outcome, why string) {
	var unexpected, others, missing []string
	for _, failure := range r.failures {
		if at := slices.IndexFunc(expected, func(e expectation) bool { return e.covers(failure) }); at < 0 {
			unexpected = append(unexpected, failure)
		} else {
			others = append(others, fmt.Sprintf("expected (%s): %s", expected[at].issue, failure))
		}
	}
	for _, e := range expected {
		if !slices.ContainsFunc(r.failures, e.covers) {
			missing = append(missing, fmt.Sprintf("no failure has the text %q any more: remove it from the list of expected failures (%s)", e.text, e.issue))
		}
	}
	switch {
	case len(unexpected) > 0: // An unexpected failure may have ended the check before an expected one.
		return Failed, strings.Join(append(unexpected, others...), "\n")
	case len(missing) > 0:
		return Failed, strings.Join(append(missing, others...), "\n")
	}
	return ExpectedFailure, r.Why
}

// issuesOf returns the issues, each once.
func issuesOf(expected []expectation) string {
	var all []string
	for _, e := range expected {
		if !slices.Contains(all, e.issue) {
			all = append(all, e.issue)
		}
	}
	return strings.Join(all, ", ")
}

// expectedOf returns the expected failures of a check.
func (s *suite) expectedOf(check Check) []expectation {
	return slices.DeleteFunc(slices.Clone(s.expected), func(e expectation) bool { return e.id != check.ID })
}
