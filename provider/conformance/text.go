package conformance

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// titles has the titles of the profiles in the text.
var titles = map[Profile]string{
	Instances: "Instances", Cost: "Cost", LoadBalancers: "Load balancers", Routes: "Routes", FastPaths: "Fast paths", Process: "Process",
}

// WriteText writes the report for people: a line for each profile, and the details of each
// failure.
func (r *Report) WriteText(to io.Writer) error {
	var w strings.Builder
	fmt.Fprintln(&w, r.heading())
	for _, p := range r.Profiles {
		r.writeProfile(&w, p)
	}
	if len(r.Measurements) > 0 {
		var all []string
		for _, key := range slices.Sorted(maps.Keys(r.Measurements)) {
			all = append(all, key+" "+strconv.FormatFloat(r.Measurements[key], 'g', -1, 64))
		}
		fmt.Fprintf(&w, "%-15s %s\n", "Measured", strings.Join(all, ", "))
	}
	left := []string{}
	for _, l := range r.Leftovers {
		left = append(left, strings.TrimSpace(fmt.Sprintf("%s %s %s", l.Kind, l.ID, l.Name)))
	}
	fmt.Fprintf(&w, "%-15s %s\n%-15s %s\n", "Left behind", cmp.Or(strings.Join(left, ", "), "nothing"), "Result", r.verdict())
	_, err := io.WriteString(to, w.String())
	return err
}

// heading names the provider and the suite. It says that the account is live if
// Target.Live is set. Otherwise it says nothing about the account, because a target
// need not set Live.
func (r *Report) heading() string {
	where, race := "", "without -race"
	if r.Environment.Live {
		where = " against a live account"
	}
	if r.Environment.Race {
		race = "with -race"
	}
	name := strings.TrimSpace(r.Provider.Name + " " + r.Provider.Version)
	return fmt.Sprintf("%s (cloud-provider %s)%s, suite %s, %s",
		name, cmp.Or(r.Environment.CloudProviderVersion, "unknown"), where, cmp.Or(r.Suite.Version, "unversioned"), race)
}

// writeProfile writes the counts of a profile and its failures.
func (r *Report) writeProfile(w *strings.Builder, p ProfileResult) {
	counts := map[Outcome]int{}
	why := map[Outcome][]string{}
	var failed []CheckResult
	for _, c := range r.Checks {
		if c.profile() != p.Name {
			continue
		}
		outcome := c.Outcome
		if outcome == Failed && !c.counts() {
			outcome = Passed
		}
		counts[outcome]++
		why[outcome] = append(why[outcome], firstLine(c.Why))
		if c.counts() {
			failed = append(failed, c)
		}
	}
	fmt.Fprintf(w, "%-15s ✓ %-3d ✗ %-3d", titles[p.Name], counts[Passed], counts[Failed])
	for _, o := range []struct {
		outcome Outcome
		text    string
	}{{ExpectedFailure, "! %d expected to fail"}, {Unsupported, "~ %d unsupported"}, {Skipped, "– %d skipped"}, {NotRun, "– %d not run"}} {
		if n := counts[o.outcome]; n > 0 {
			fmt.Fprintf(w, "  "+o.text+"%s", n, reasons(why[o.outcome]))
		}
	}
	fmt.Fprintln(w)
	for _, c := range failed {
		c.write(w)
	}
}

// write writes why a check has failed, what users lose by it, and which part of the
// contract requires it.
func (c CheckResult) write(w *strings.Builder) {
	fmt.Fprintf(w, "  ✗ %s  %s  %s\n", c.ID, c.Level, strings.ReplaceAll(c.Why, "\n", "\n      "))
	for _, more := range []string{c.Cost, c.Source} {
		if more != "" {
			fmt.Fprintln(w, "      "+more)
		}
	}
}

// reasons returns the reasons in parentheses, without duplicates. It shows three of them
// and counts the others.
func reasons(all []string) string {
	const most = 3
	var different []string
	for _, why := range all {
		if why != "" && !slices.Contains(different, why) {
			different = append(different, why)
		}
	}
	switch more := len(different) - most; {
	case len(different) == 0:
		return ""
	case more > 0:
		different = append(different[:most], "and "+counted(more, "more reason"))
	}
	return " (" + strings.Join(different, "; ") + ")"
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

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
	if !r.Environment.Race {
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
