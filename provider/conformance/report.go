package conformance

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Report is the result of a run.
type Report struct {
	Result Verdict
	// Profiles and Checks are in the order of the run.
	Profiles []ProfileResult
	Checks   []CheckResult
	// Measurements has the measurements of all checks.
	Measurements map[string]float64
	// Leftovers are the resources that the provider or the suite has left in the cloud.
	Leftovers []Resource

	race bool // whether the race detector was on
}

// Verdict is the result of a run or a profile.
type Verdict string

// The verdicts.
const (
	// Success means that the race detector was on, that each core check has passed or is
	// Unsupported, and that at least one has passed. The result of a run does not depend
	// on the profiles whose result is Nothing.
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

// ProfileResult is the result of the checks of a profile.
type ProfileResult struct {
	Name     Profile `json:"name"`
	Result   Verdict `json:"result"`
	Core     Counts  `json:"core"`
	Extended Counts  `json:"extended"`
}

// Counts counts checks by outcome.
type Counts struct {
	Passed           int `json:"passed"`
	Failed           int `json:"failed"`
	ExpectedFailures int `json:"expectedFailures"`
	Skipped          int `json:"skipped"`
	NotRun           int `json:"notRun"`
	Unsupported      int `json:"unsupported"`
}

func (c *Counts) add(o Outcome) {
	switch o {
	case Passed:
		c.Passed++
	case Failed:
		c.Failed++
	case ExpectedFailure:
		c.ExpectedFailures++
	case Skipped:
		c.Skipped++
	case NotRun:
		c.NotRun++
	case Unsupported:
		c.Unsupported++
	}
}

// CheckResult is the result of one check.
type CheckResult struct {
	ID      string  `json:"id"`
	Title   string  `json:"title"`
	Level   Level   `json:"level"`
	Outcome Outcome `json:"result"`
	// Why describes the call and its result, or gives the reason why the check was not
	// run.
	Why string `json:"why,omitempty"`
	// Source and Cost are copied from the Check. They are set only if the check has
	// failed, even if the failure was expected.
	Source string `json:"source,omitempty"`
	Cost   string `json:"cost,omitempty"`
	// Issue is the issue that tracks an expected failure. Several issues are separated by
	// commas.
	Issue        string             `json:"issue,omitempty"`
	Calls        *Calls             `json:"calls,omitempty"`
	Measurements map[string]float64 `json:"measurements,omitempty"`
	Leftovers    []Resource         `json:"leftovers,omitempty"`
	Seconds      float64            `json:"seconds"`
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
	// NotRun means that the world or the target lacks something, that the options do not
	// allow the check, or that the run ended before the check.
	NotRun Outcome = "notRun"
	// Unsupported means that the provider does not offer what the check tests, or
	// that the target declares it as unsupported.
	Unsupported Outcome = "unsupported"
)

// summarize computes Profiles, Measurements, Leftovers and Result from the results of the
// checks.
func (r *Report) summarize() {
	r.Profiles, r.Measurements, r.Leftovers = nil, map[string]float64{}, nil
	for _, check := range r.Checks {
		maps.Copy(r.Measurements, check.Measurements)
		r.Leftovers = append(r.Leftovers, check.Leftovers...)
	}
	for _, profile := range Profiles() {
		if p, any := r.profile(profile); any {
			r.Profiles = append(r.Profiles, p)
		}
	}
	r.Result = Nothing
	for _, p := range r.Profiles {
		r.Result = worse(r.Result, p.Result)
	}
}

// profile summarizes a profile. It also reports whether the report has checks of this
// profile.
func (r *Report) profile(name Profile) (p ProfileResult, any bool) {
	p.Name = name
	for _, check := range r.Checks {
		if (Check{ID: check.ID}).Profile() != name {
			continue
		}
		any = true
		switch check.Level {
		case Core:
			p.Core.add(check.Outcome)
		case Extended:
			p.Extended.add(check.Outcome)
		case Measured:
		}
	}
	p.Result = verdict(p.Core, r.race)
	return p, any
}

func verdict(core Counts, race bool) Verdict {
	switch {
	case core.Failed > 0:
		return Failure
	case core.Passed == 0 && core.ExpectedFailures == 0:
		return Nothing
	case core.ExpectedFailures+core.Skipped+core.NotRun > 0, !race:
		return Partial
	}
	return Success
}

// worse returns the worse verdict. The verdict Nothing counts as the best one, so a
// profile without results does not change the result of the run.
func worse(a, b Verdict) Verdict {
	order := []Verdict{Nothing, Success, Partial, Failure}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// seconds rounds a duration, so that reports can be compared.
func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*100) / 100 }
