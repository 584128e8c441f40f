package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
)

// Choice selects the checks to run and the findings to report.
type Choice struct {
	Only []string // categories; empty means all
	Skip []string // IDs
	Node string   // if set, findings about other Nodes and about Services are left out
}

// Validate returns an error if a category or an ID does not exist.
func (c Choice) Validate() error {
	for _, only := range c.Only {
		if !slices.Contains(Categories(), only) {
			return fmt.Errorf("--only: %q is not one of %s", only, strings.Join(Categories(), ", "))
		}
	}
	for _, skip := range c.Skip {
		if !slices.ContainsFunc(ids(), func(id string) bool { return strings.EqualFold(id, skip) }) {
			return fmt.Errorf("--skip: there is no check %q; docs/reference/doctor.md lists all", skip)
		}
	}
	return nil
}

func (c Choice) wants(check Check) bool {
	skipped := slices.ContainsFunc(c.Skip, func(id string) bool { return strings.EqualFold(id, check.ID) })
	return !skipped && (len(c.Only) == 0 || slices.Contains(c.Only, check.Category()))
}

// wantsFinding reports whether a finding is wanted. A finding about several Nodes is
// wanted if the chosen Node is one of them.
func (c Choice) wantsFinding(f Finding) bool {
	kind, name, _ := strings.Cut(f.Object, "/")
	return c.Node == "" || kind != "service" && kind != "node" || kind == "node" && (name == c.Node || slices.Contains(f.others, c.Node))
}

// Run makes the checks.
func Run(v *cluster.View, c Choice) Report {
	r := Report{Version: v.Version, Time: v.Now, Findings: []Finding{}, Unknown: []Unknown{}, Passed: []string{}}
	for _, check := range Checks() {
		if !c.wants(check) {
			continue
		}
		found, why := check.run(v, c)
		r.Findings = append(r.Findings, found...)
		switch {
		case why != "":
			r.Unknown = append(r.Unknown, Unknown{check.ID, check.Category(), why})
		case len(found) == 0:
			r.Passed = append(r.Passed, check.ID)
		}
	}
	return r
}

// run makes one check. If the result is not known, it returns the reason.
func (c Check) run(v *cluster.View, chosen Choice) (all []Finding, unknown string) {
	var missing []string
	for _, s := range c.Needs {
		if why := v.Why(s); why != "" && !slices.Contains(missing, why) {
			missing = append(missing, why)
		}
	}
	if len(missing) > 0 {
		return nil, "needs " + strings.Join(missing, ", ")
	}
	if c.cannot != nil {
		if why := c.cannot(v); why != "" {
			return nil, why
		}
	}
	for _, f := range c.find(v) {
		if !chosen.wantsFinding(f) {
			continue
		}
		f.Object, f.Message = cluster.Shown(f.Object), cluster.Shown(f.Message)
		f.ID, f.Category, f.Level, f.Docs, f.Fix = c.ID, c.Category(), c.Level, c.Docs(), c.fixFor(f.Object)
		for i := range f.Evidence {
			f.Evidence[i] = cluster.Shown(f.Evidence[i])
		}
		all = append(all, f)
	}
	partly := slices.IndexFunc(c.Needs, func(s cluster.Source) bool { return v.Partly[s] })
	if len(all) > 0 || partly < 0 {
		return all, ""
	}
	return nil, fmt.Sprintf("not all %s were read, and nothing was found in those that were read", strings.TrimPrefix(string(c.Needs[partly]), "list "))
}
