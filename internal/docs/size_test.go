package docs

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The largest numbers of words. A page that grows has to say something once that other
// pages repeat.
const (
	maxWords        = 85_000
	maxReadme       = 900
	maxContributing = 1_200
	maxDecision     = 400
	maxRecipe       = 600
	maxRow          = 300 // characters in a row of a table
)

// TestDocumentsStaySmall bounds the words of README.md, CONTRIBUTING.md and docs together,
// and of the pages that everybody reads.
func TestDocumentsStaySmall(t *testing.T) {
	all := 0
	for _, file := range files(t, ".md") {
		words := len(strings.Fields(read(t, file)))
		counts := strings.HasPrefix(file, "docs/") || file == "README.md" || file == "CONTRIBUTING.md"
		if counts && file != "docs/reference/evidence.md" { // It is a list of names from data.
			all += words
		}
		bound := maxWords
		switch {
		case file == "README.md":
			bound = maxReadme
		case file == "CONTRIBUTING.md":
			bound = maxContributing
		case strings.HasPrefix(file, "docs/adr/"):
			bound = maxDecision
		case strings.HasPrefix(file, "docs/contributing/"):
			bound = maxRecipe
		}
		if words > bound {
			t.Errorf("%s has %d words, at most %d are allowed", file, words, bound)
		}
	}
	if all > maxWords {
		t.Errorf("the documents have %d words, at most %d are allowed", all, maxWords)
	}
}

// TestRowsOfTablesAreShort bounds the rows of tables. What needs more space belongs
// into a list, or below the table.
func TestRowsOfTablesAreShort(t *testing.T) {
	for _, file := range files(t, ".md") {
		fenced := false
		for line := range strings.Lines(read(t, file)) {
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
			}
			line = strings.TrimSpace(line)
			if n := utf8.RuneCountInString(line); !fenced && strings.HasPrefix(line, "|") && n > maxRow {
				t.Errorf("%s has a row of %d characters, at most %d are allowed: %s", file, n, maxRow, line[:60])
			}
		}
	}
}
