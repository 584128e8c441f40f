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

// covers reports whether the failure is expected. A failure of the world says nothing
// about the provider. So an expectation covers it only if its text is empty or begins
// with ofWorld.
func (e expectation) covers(failure string) bool {
	if e.text != "" && strings.HasPrefix(failure, ofWorld) && !strings.HasPrefix(e.text, ofWorld) {
		return false
	}
	return strings.Contains(failure, e.text)
}

// expectations returns the entries of ExpectFailure, in order.
func (o Options) expectations() ([]expectation, error) {
	var all []expectation
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(o.ExpectFailure)) {
		id, text, named := strings.Cut(key, ":")
		e := expectation{id: id, text: strings.TrimSpace(text), issue: o.ExpectFailure[key]}
		switch _, whole := o.ExpectFailure[id]; {
		case named && e.text == "":
			problems = append(problems, fmt.Errorf("check %s: say after the colon which failure is expected, or leave out the colon for all of them", id))
		case named && whole:
			problems = append(problems, fmt.Errorf("check %s: all its failures are expected, so %q has no effect", id, key))
		}
		all = append(all, e)
	}
	return all, errors.Join(problems...)
}

// compare compares what a check has found with the expected failures of this check, and
// returns the result for the report.
func (f finding) compare(check Check, expected []expectation) CheckResult {
	result := CheckResult{Check: check, Outcome: f.Outcome, Why: strings.Join(f.Why, "\n"), Measurements: f.Measurements, Leftovers: f.Leftovers}
	expected = slices.DeleteFunc(slices.Clone(expected), func(e expectation) bool { return e.id != check.ID })
	if len(expected) == 0 {
		return result
	}
	var issues []string
	for _, e := range expected {
		if !slices.Contains(issues, e.issue) {
			issues = append(issues, e.issue)
		}
	}
	result.Issue = strings.Join(issues, ", ")
	switch f.Outcome { //nolint:exhaustive // what did not run has no failures
	case Passed:
		result.Outcome, result.Why = Failed, "it passes now: remove it from the list of expected failures"
	case Failed:
		result.Outcome = ExpectedFailure
		if problems := unexpected(f.Why, expected); len(problems) > 0 {
			result.Outcome, result.Why = Failed, strings.Join(problems, "\n")
		}
	}
	return result
}

// unexpected returns what is wrong if these failures are compared with the expected ones,
// and after that the expected failures. It returns nil if nothing is wrong.
func unexpected(failures []string, expected []expectation) []string {
	var problems, others []string
	for _, failure := range failures {
		if at := slices.IndexFunc(expected, func(e expectation) bool { return e.covers(failure) }); at < 0 {
			problems = append(problems, failure)
		} else {
			others = append(others, fmt.Sprintf("expected (%s): %s", expected[at].issue, failure))
		}
	}
	if len(problems) == 0 { // An unexpected failure may have ended the check before an expected one.
		for _, e := range expected {
			if !slices.ContainsFunc(failures, e.covers) {
				problems = append(problems, fmt.Sprintf("no failure has the text %q any more: remove it from the list of expected failures (%s)", e.text, e.issue))
			}
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return append(problems, others...)
}
