package conformance

import (
	"cmp"
	"strings"
)

// judged is the result of a check, with a list of its failures.
type judged struct {
	CheckResult

	failures []string
}

// failed returns the result of a check with one failure.
func failed(why string) judged {
	return judged{CheckResult{Outcome: Failed, Why: why}, []string{why}}
}

// without returns the result of a check that was not run.
func without(o Outcome, why string) judged {
	return judged{CheckResult: CheckResult{Outcome: o, Why: why}}
}

// result returns the result of the check. The caller sets the fields that the trial
// does not know, such as the title.
func (t *trial) result() judged {
	t.mu.Lock()
	defer t.mu.Unlock()
	var why []string
	for _, text := range t.why {
		why = append(why, strings.ReplaceAll(text, "fl-"+t.suite.id+"-", "fl-…-")) // so that reports can be compared
	}
	r := judged{CheckResult: CheckResult{
		Outcome: cmp.Or(t.outcome, Passed), Why: strings.Join(why, "\n"), Measurements: t.measurements, Leftovers: t.leftovers, Calls: t.calls,
	}}
	if r.Outcome == Failed {
		r.failures = why
	}
	return r
}
