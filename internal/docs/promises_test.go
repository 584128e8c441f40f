package docs

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

const promisesFile = "docs/promises.yaml"

// promised is the content of the file of promises.
type promised struct {
	Intro, Evidence string // how the two pages begin
	Chapters        []struct {
		Chapter, Text string
		Promises      []promise
	}
}

// promise is something that Fairlead promises to the people who run it.
type promise struct {
	ID, Title, Text string
	Missing         string              // what is not so yet
	Rules           []string            // the files to change for another promise
	Tests           map[string][]string // by "package.Test", the rows that show the promise
	Parts           []promise
}

// promises returns the content of the file.
func promises(t *testing.T) (all promised) {
	t.Helper()
	readYAML(t, promisesFile, &all)
	return all
}

// readYAML reads a file of data and refuses fields that are not known.
func readYAML(t *testing.T, path string, into any) {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader([]byte(read(t, path))))
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// each returns the promises and their parts, in the order of the file.
func (all promised) each() (flat []promise) {
	for _, c := range all.Chapters {
		for _, p := range c.Promises {
			flat = append(append(flat, p), p.Parts...)
		}
	}
	return flat
}

// titles returns the titles of all promises, by their IDs.
func titles(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, p := range promises(t).each() {
		all[p.ID] = p.Title
	}
	return all
}

// promisesPage returns the page for operators.
func promisesPage(t *testing.T) string {
	t.Helper()
	w, all := &strings.Builder{}, promises(t)
	w.WriteString(all.Intro)
	for _, c := range all.Chapters {
		fmt.Fprintf(w, "\n## %s\n", c.Chapter)
		paragraph(w, c.Text)
		for _, p := range c.Promises {
			fmt.Fprintf(w, "\n### %s: %s\n", p.ID, p.Title)
			paragraph(w, p.Text)
			for i, part := range p.Parts {
				if i == 0 {
					w.WriteString("\n")
				}
				w.WriteString(strings.TrimRight(fmt.Sprintf("- **%s: %s.** %s", part.ID, part.Title, unbroken(part.Text)), " ") + "\n")
			}
			if p.Missing != "" {
				paragraph(w, "*Not yet:* "+p.Missing)
			}
		}
	}
	return withNumbers(t, w.String())
}

// paragraph writes paragraphs, each as one line.
func paragraph(w *strings.Builder, text string) {
	for p := range strings.SplitSeq(text, "\n\n") {
		if p != "" {
			fmt.Fprintf(w, "\n%s\n", unbroken(p))
		}
	}
}

// evidencePage returns the page of rules and tests.
func evidencePage(t *testing.T) string {
	t.Helper()
	w, all := &strings.Builder{}, promises(t)
	w.WriteString(all.Evidence)
	for _, p := range all.each() {
		if len(p.Rules)+len(p.Tests) > 0 {
			fmt.Fprintf(w, "\n## %s: %s\n\n", p.ID, p.Title)
		}
		for _, file := range p.Rules {
			fmt.Fprintf(w, "- [%s](../../%s)\n", file, file)
		}
		for _, name := range slices.Sorted(maps.Keys(p.Tests)) {
			fmt.Fprintf(w, "- `%s`", name)
			for i, row := range p.Tests[name] {
				w.WriteString(map[bool]string{true: ":"}[i == 0])
				if i%3 == 0 {
					w.WriteString("\n ")
				}
				w.WriteString(" `" + row + "`")
			}
			w.WriteString("\n")
		}
	}
	return w.String()
}

// TestPromisesAreHeld checks that every promise names its rules, its tests and an
// end-to-end test, and that all of them exist. A promise with parts can leave this to
// its parts.
func TestPromisesAreHeld(t *testing.T) {
	known, seen := testsOf(t), map[string]bool{}
	for _, p := range promises(t).each() {
		if seen[p.ID] || !idNamed.MatchString(p.ID) || p.Title == "" {
			t.Errorf("%s: %q needs another ID, or a title", promisesFile, p.ID)
		}
		seen[p.ID] = true
		for _, file := range p.Rules {
			if !exists(file) {
				t.Errorf("%s: %s names %s, which does not exist", promisesFile, p.ID, file)
			}
		}
		endToEnd := strings.HasPrefix(p.ID, "S9") // Not each bound is tested in a cluster.
		for name, rows := range p.Tests {
			endToEnd = endToEnd || strings.HasPrefix(name, "e2e.")
			known.check(t, promisesFile+": "+p.ID, name, rows)
		}
		if (len(p.Parts) == 0 || len(p.Rules) > 0) && (len(p.Rules) == 0 || len(p.Tests) < 2 || !endToEnd) {
			t.Errorf("%s: %s has to name its rules, a test and an end-to-end test", promisesFile, p.ID)
		}
	}
}

// promiseCited finds citations of a promise, or of a part of one: "S6", "S5 c", "S5 a and b".
var (
	promiseCited = regexp.MustCompile(`(?:^|[^\w./])([SVPC]\d+)\b((?:(?:,| and)? [a-j]\b)*)`)
	parts        = regexp.MustCompile(`\b[a-j]\b`)
)

// TestCitedPromisesExist checks that comments and pages cite only promises that exist.
func TestCitedPromisesExist(t *testing.T) {
	known, cited := titles(t), 0
	for file, text := range prose(t) {
		for _, m := range promiseCited.FindAllStringSubmatch(text, -1) {
			ids := []string{m[1]}
			if strings.Contains(m[2], " ") {
				ids = nil
				for _, part := range parts.FindAllString(m[2], -1) {
					ids = append(ids, m[1]+" "+part)
				}
			}
			for _, id := range ids {
				cited++
				if known[id] == "" {
					t.Errorf("%s cites the promise %s, which %s does not have", file, id, promisesFile)
				}
			}
		}
	}
	if cited < 30 {
		t.Errorf("found %d citations of promises", cited)
	}
}
