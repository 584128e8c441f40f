package docs

import (
	"regexp"
	"strings"
	"testing"
)

var (
	testNamed = regexp.MustCompile("`([a-z][a-z0-9]*\\.Test\\w+)`")
	idNamed   = regexp.MustCompile(`^[SVPC]\d+( [a-z])?$`)
)

// TestThreatModelIsHeld checks that the last column of the threat model names promises
// or tests that exist. It is empty if an attack succeeds, and the row says so.
func TestThreatModelIsHeld(t *testing.T) {
	const page = "docs/security/threat-model.md"
	tests, promised, named := testsOf(t), titles(t), 0
	for line := range strings.Lines(read(t, page)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 || strings.HasPrefix(line, "| what ") || strings.HasPrefix(line, "| ---") {
			continue
		}
		for cited := range strings.SplitSeq(strings.TrimSpace(cells[3]), ", ") {
			m := testNamed.FindStringSubmatch(cited)
			switch {
			case cited == "":
				continue
			case m != nil:
				tests.check(t, page, m[1], nil)
			case !idNamed.MatchString(cited) || promised[cited] == "":
				t.Errorf("%s names %q, which is neither a test nor a promise", page, cited)
			}
			named++
		}
	}
	if named < 40 {
		t.Errorf("%s names %d promises and tests", page, named)
	}
}

// TestLinesAreShort checks that a line of a table can be read, on the pages about what
// Fairlead promises, and any line of the evidence.
func TestLinesAreShort(t *testing.T) {
	for _, page := range []string{"docs/promises.md", "docs/compared-with-upstream.md", "docs/security/threat-model.md", "docs/reference/events.md", "docs/reference/evidence.md"} {
		for line := range strings.Lines(read(t, page)) {
			if len([]rune(line)) > 300 && (strings.HasPrefix(line, "|") || strings.HasSuffix(page, "evidence.md")) {
				t.Errorf("%s has a line of %d characters: %.60s…", page, len([]rune(line)), line)
			}
		}
	}
}
