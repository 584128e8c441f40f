package route

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// reference is the page that tells users which routes are created, kept and removed.
// Each row of its tables ends with the names of the test rows that check it.
const reference = "../../../docs/reference/routes.md"

func TestReferenceNamesRows(t *testing.T) {
	known := map[string]bool{}
	for _, rows := range [][]row{removeRows(), createRows(), listingRows(), outcomeRows(), conditionRows()} {
		for _, r := range rows {
			if known[r.name] {
				t.Errorf("there are two rows %s", r.name)
			}
			known[r.name] = true
		}
	}
	page, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	quoted := regexp.MustCompile("`([A-Za-z]+)`")
	lines := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 3 || strings.HasPrefix(cells[1], " ---") || strings.HasSuffix(line, "held by |\n") {
			continue
		}
		lines++
		names := quoted.FindAllStringSubmatch(cells[len(cells)-2], -1)
		if len(names) == 0 {
			t.Errorf("nothing holds %q", strings.TrimSpace(line))
		}
		for _, n := range names {
			if !known[n[1]] {
				t.Errorf("there is no row %s, which %s names", n[1], reference)
			}
		}
	}
	if lines < 20 {
		t.Errorf("%s has %d rows that could be read", reference, lines)
	}
}
