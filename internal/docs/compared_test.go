package docs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const differencesFile = "docs/differences.yaml"

// differences is the content of the file of differences from upstream.
type differences struct {
	Intro string
	Areas []struct {
		Area, Text string
		Rows       []difference
	}
}

// difference is something that Fairlead does in another way than upstream.
type difference struct {
	ID             string // how e2e.TestBesideTheSkeleton names it
	Here, Upstream string
	Promise        []string // what forbids upstream's behaviour
	Back           string   // what brings it back
}

// comparedPage returns the page of differences.
func comparedPage(t *testing.T) string {
	t.Helper()
	var (
		all   differences
		w     strings.Builder
		title = titles(t)
	)
	readYAML(t, differencesFile, &all)
	w.WriteString(all.Intro)
	for _, a := range all.Areas {
		fmt.Fprintf(&w, "\n## %s\n", a.Area)
		paragraph(&w, a.Text)
		w.WriteString("\n| here | upstream | to get upstream's behaviour |\n| --- | --- | --- |\n")
		for _, d := range a.Rows {
			if d.Here == "" && len(d.Promise) > 0 {
				d.Here = title[d.Promise[0]] + "."
			}
			back := strings.Trim(strings.Join(d.Promise, ", ")+"; "+d.Back, "; ")
			fmt.Fprintf(&w, "| %s | %s | %s |\n", unbroken(d.Here), unbroken(d.Upstream), unbroken(back))
		}
	}
	return w.String()
}

var (
	flagNamed  = regexp.MustCompile("--([a-z][a-z0-9-]*)")
	labelNamed = regexp.MustCompile("`(fairlead\\.dev/[a-z-]+)`")
)

// TestEachDifferenceHasAFlagOrAPromise checks that each difference names a promise, or
// how to get upstream's behaviour (promise C1).
func TestEachDifferenceHasAFlagOrAPromise(t *testing.T) {
	var all differences
	readYAML(t, differencesFile, &all)
	title, flags, labels := titles(t), read(t, "docs/reference/flags.md"), read(t, "docs/reference/annotations.md")
	for _, a := range all.Areas {
		for _, d := range a.Rows {
			named := 0
			need := func(name string, exists bool) {
				if named++; !exists {
					t.Errorf("%s names %s, which does not exist: %+v", differencesFile, name, d)
				}
			}
			for _, id := range d.Promise {
				need(id, title[id] != "")
			}
			for _, m := range flagNamed.FindAllStringSubmatch(d.Back, -1) {
				need(m[0], strings.Contains(flags, "\n| `--"+m[1]+"` |"))
			}
			for _, m := range labelNamed.FindAllStringSubmatch(d.Back, -1) {
				need(m[1], strings.Contains(labels, m[0]))
			}
			if named == 0 && d.Back != "Words only" || d.Upstream == "" || d.Here == "" && len(d.Promise) == 0 {
				t.Errorf("%s: this row has to name a promise, a flag or a label, or to say Words only: %+v", differencesFile, d)
			}
		}
	}
}
