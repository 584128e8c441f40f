package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-k8s/fairlead/internal/printable"
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
		if !slices.Contains(Categories(), Category(only)) {
			return fmt.Errorf("--only: %q is not one of %s", only, strings.Join(categoryNames(), ", "))
		}
	}
	for _, skip := range c.Skip {
		if !slices.ContainsFunc(Checks(), func(c Check) bool { return strings.EqualFold(c.ID, skip) }) {
			return fmt.Errorf("--skip: there is no check %q; docs/reference/doctor.md lists all", skip)
		}
	}
	return nil
}

func (c Choice) wants(check Check) bool {
	skipped := slices.ContainsFunc(c.Skip, func(id string) bool { return strings.EqualFold(id, check.ID) })
	return !skipped && (len(c.Only) == 0 || slices.Contains(c.Only, string(check.Category)))
}

// wantsFinding reports whether a finding is wanted. A finding about several Nodes is
// wanted if the chosen Node is one of them.
func (c Choice) wantsFinding(f Finding) bool {
	kind, name, _ := strings.Cut(f.Object, "/")
	return c.Node == "" || kind != "service" && kind != "node" || kind == "node" && (name == c.Node || slices.Contains(f.others, c.Node))
}

// Run makes the checks.
func Run(v *View, c Choice) Report {
	r := Report{Version: v.Version, Time: v.Now, Findings: []Finding{}, Unknown: []Unknown{}, Passed: []string{}}
	for _, check := range Checks() {
		if c.wants(check) {
			r.take(v, check, c)
		}
	}
	return r
}

// take makes one check.
func (r *Report) take(v *View, check Check, c Choice) {
	if rights := v.missing(check.Needs); len(rights) > 0 {
		r.Unknown = append(r.Unknown, Unknown{check.ID, check.Category, "needs " + strings.Join(rights, ", ")})
		return
	}
	if check.cannot != nil {
		if why := check.cannot(v); why != "" {
			r.Unknown = append(r.Unknown, Unknown{check.ID, check.Category, why})
			return
		}
	}
	found := slices.DeleteFunc(check.find(v), func(f Finding) bool { return !c.wantsFinding(f) })
	for _, f := range found {
		f.Object = shown(f.Object)
		f.ID, f.Category, f.Level, f.Docs, f.Fix = check.ID, check.Category, check.Level, check.Docs(), check.fixFor(f.Object)
		f.Message = shown(f.Message)
		for i := range f.Evidence {
			f.Evidence[i] = shown(f.Evidence[i])
		}
		r.Findings = append(r.Findings, f)
	}
	if len(found) > 0 {
		return
	}
	for _, s := range check.Needs {
		if v.Partly[s] {
			r.Unknown = append(r.Unknown, Unknown{check.ID, check.Category, fmt.Sprintf("not all %s were read, and nothing was found in those that were read", strings.TrimPrefix(string(s), "list "))})
			return
		}
	}
	r.Passed = append(r.Passed, check.ID)
}

// maxText bounds the length, in bytes, of a text that others might have written.
const maxText = 1000

// shown turns a text that others might have written into one line without
// secrets.
func shown(text string) string { return printable.Line(printable.WithoutSecrets(text), maxText) }
