package conformance

import "testing"

// A partial result says what is missing.
func TestPartialVerdict(t *testing.T) {
	core := func(o Outcome) CheckResult { return CheckResult{ID: "instances/x", Level: Core, Outcome: o} }
	extended := CheckResult{ID: "instances/y", Level: Extended, Outcome: Skipped}
	for name, row := range map[string]struct {
		race   bool
		checks []CheckResult
		want   string
	}{
		"NoRace":  {checks: []CheckResult{core(Passed), extended}, want: "the suite was built without -race"},
		"NotRun":  {race: true, checks: []CheckResult{core(Passed), core(NotRun), core(NotRun)}, want: "2 core checks not run"},
		"Skipped": {race: true, checks: []CheckResult{core(Passed), core(Skipped), extended}, want: "1 core check skipped"},
		"All": {
			checks: []CheckResult{core(ExpectedFailure), core(Skipped), core(NotRun)},
			want:   "the suite was built without -race; 1 core check not run; 1 core check skipped; 1 core check expected to fail",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Report{Checks: row.checks, race: row.race}
			r.summarize()
			if got, want := r.verdict(), "partial: no core check failed unexpectedly; "+row.want; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}
