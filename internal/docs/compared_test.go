package docs

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

const (
	comparedPage = "docs/compared-with-upstream.md"
	// wordsOnly is the last cell of a row if only a text differs: a log line, an event,
	// a metric, or an error message of a daemon that does not start.
	wordsOnly = "Words only."
)

var (
	flagNamed    = regexp.MustCompile("(?:^|[ `])--([a-z][a-z0-9-]*)")
	flagListed   = regexp.MustCompile("(?m)^\\| `--([a-z0-9-]+)`")
	labelNamed   = regexp.MustCompile("`(fairlead\\.dev/[a-z-]+)`")
	promiseNamed = regexp.MustCompile(`\[([SVPC]\d+(?: [a-z])?)\]\(promises\.md`)
)

// ways has the names that the last cell of a row can contain.
type ways struct{ flags, labels, promises map[string]bool }

// fault returns a text about the problem with the last cell of a row. It returns
// "" if the cell is wordsOnly, or if it names flags, labels or promises and all
// of them exist.
func (w ways) fault(cell string) string {
	if cell == wordsOnly {
		return ""
	}
	named := 0
	for _, kind := range []struct {
		what  string
		form  *regexp.Regexp
		known map[string]bool
	}{{"flag", flagNamed, w.flags}, {"label", labelNamed, w.labels}, {"promise", promiseNamed, w.promises}} {
		for _, m := range kind.form.FindAllStringSubmatch(cell, -1) {
			if named++; !kind.known[m[1]] {
				return fmt.Sprintf("there is no %s %s", kind.what, m[1])
			}
		}
	}
	if named == 0 {
		return "it names no flag, no label and no promise, and does not say " + wordsOnly
	}
	return ""
}

// TestEachDifferenceHasAFlagOrAPromise checks the last column of the tables in
// docs/compared-with-upstream.md (promise C1).
func TestEachDifferenceHasAFlagOrAPromise(t *testing.T) {
	w := ways{flags: names(t, "docs/reference/flags.md", flagListed), labels: names(t, "docs/reference/annotations.md", labelNamed)}
	_, w.promises = promises(t)
	rows := 0
	for line := range strings.Lines(read(t, comparedPage)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what differs") || strings.HasPrefix(line, "| ---") {
			continue
		}
		if rows++; len(cells) != 3 {
			t.Errorf("a row has %d cells, want 3: %s", len(cells), line)
		}
		if fault := w.fault(strings.TrimSuffix(cells[len(cells)-1], " |")); fault != "" {
			t.Errorf("%s:\n%s", fault, line)
		}
	}
	if rows < 80 {
		t.Errorf("%s has %d rows that could be read", comparedPage, rows)
	}
}

func TestFaultsOfADifference(t *testing.T) {
	w := ways{flags: map[string]bool{"real-flag": true}, labels: map[string]bool{"fairlead.dev/real": true}, promises: map[string]bool{"S5": true, "S5 c": true}}
	for cell, want := range map[string]string{
		"`--real-flag=3s`":                        "",
		"Do not set `fairlead.dev/real`.":         "",
		"[S5](promises.md), [S5 c](promises.md).": "",
		wordsOnly:                          "",
		"No flag.":                         "it names no flag, no label and no promise, and does not say " + wordsOnly,
		"S5":                               "it names no flag, no label and no promise, and does not say " + wordsOnly,
		"`--real-flag=0 --other-flag=0`":   "there is no flag other-flag",
		"Do not set `fairlead.dev/other`.": "there is no label fairlead.dev/other",
		"[S5 x](promises.md).":             "there is no promise S5 x",
	} {
		if got := w.fault(cell); got != want {
			t.Errorf("%q: %q, want %q", cell, got, want)
		}
	}
}

// names returns the names that the pattern finds on a page.
func names(t *testing.T, path string, form *regexp.Regexp) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, m := range form.FindAllStringSubmatch(read(t, path), -1) {
		found[m[1]] = true
	}
	return found
}
