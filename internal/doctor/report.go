package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Report has the results of the checks. Fields may be added, but are never
// renamed.
type Report struct {
	Version  string    `json:"version,omitempty"` // the version of the API server
	Time     time.Time `json:"time"`              // by the clock of the API server
	Findings []Finding `json:"findings"`
	Unknown  []Unknown `json:"unknown"`
	Passed   []string  `json:"passed"` // IDs
}

// Unknown is a check whose result is not known.
type Unknown struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	Why      string `json:"why"`
}

// Count returns the number of findings with the level.
func (r *Report) Count(l Level) int {
	return countOf(r.Findings, l)
}

func countOf(all []Finding, l Level) (n int) {
	for _, f := range all {
		if f.Level == l {
			n++
		}
	}
	return n
}

// Text returns the report for a terminal.
func (r *Report) Text() string {
	var b strings.Builder
	for _, c := range Categories() {
		r.category(&b, c)
	}
	fmt.Fprintf(&b, "%s. Codes: docs/reference/doctor.md\n", r.summary())
	return b.String()
}

func (r *Report) summary() string {
	return fmt.Sprintf("%s, %s, %d unknown", count(r.Count(Error), "error"), count(r.Count(Warning), "warning"), len(r.Unknown))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

var marks = map[Level]string{Error: "✗", Warning: "!"}

// category writes a line for a category, and then the findings. Last, it writes a
// line for each reason why the result of a check is unknown.
func (r *Report) category(b *strings.Builder, c string) {
	found := slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Category != c })
	passed := r.passedIn(c)
	var unknown int
	var reasons []string
	ids := map[string][]string{} // by the reason
	for _, u := range r.Unknown {
		if u.Category != c {
			continue
		}
		if unknown++; ids[u.Why] == nil {
			reasons = append(reasons, u.Why)
		}
		ids[u.Why] = append(ids[u.Why], u.ID)
	}
	if len(found)+unknown+passed == 0 {
		return // No check of this category is wanted.
	}
	fmt.Fprintf(b, "%-14s ✓ %d", c, passed)
	for _, l := range []Level{Error, Warning} {
		if n := countOf(found, l); n > 0 {
			fmt.Fprintf(b, "  %s %d", marks[l], n)
		}
	}
	if unknown > 0 {
		fmt.Fprintf(b, "  ? %d", unknown)
	}
	b.WriteString("\n")
	for _, f := range found {
		f.write(b)
	}
	for _, why := range reasons {
		fmt.Fprintf(b, "  ? %s unknown: %s\n", strings.Join(ids[why], " "), why)
	}
}

// passedIn returns the number of checks of a category that have found nothing.
func (r *Report) passedIn(category string) (n int) {
	for _, check := range Checks() {
		if check.Category() == category && slices.Contains(r.Passed, check.ID) {
			n++
		}
	}
	return n
}

// write writes the lines of a finding.
func (f Finding) write(b *strings.Builder) {
	fmt.Fprintf(b, "  %s %s %s\n", marks[f.Level], f.ID, strings.TrimPrefix(f.Object+": "+f.Message, ": "))
	for _, e := range f.Evidence {
		fmt.Fprintf(b, "      %s\n", e)
	}
	fmt.Fprintf(b, "      Fix: %s\n", f.Fix)
}

var markdown = strings.NewReplacer("|", `\|`, "<", "&lt;", "`", "'", "[", `\[`, "@", "@\u200b")

// Markdown returns the report for an issue or a page.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "## fairlead doctor\n\nKubernetes %s, %s. %s.\n", r.Version, r.Time.UTC().Format(time.RFC3339), r.summary())
	if len(r.Findings) > 0 {
		b.WriteString("\n| | code | object | what | fix |\n| --- | --- | --- | --- | --- |\n")
	}
	for _, f := range r.Findings {
		text := f.Message
		if len(f.Evidence) > 0 {
			text += " (" + strings.Join(f.Evidence, "; ") + ")"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | `%s` |\n", f.Level, f.ID, markdown.Replace(f.Object), markdown.Replace(text), strings.ReplaceAll(f.Fix, "|", `\|`))
	}
	if len(r.Unknown) > 0 {
		b.WriteString("\nUnknown:\n\n")
	}
	for _, u := range r.Unknown {
		fmt.Fprintf(&b, "- %s: %s\n", u.ID, markdown.Replace(u.Why))
	}
	return b.String()
}
