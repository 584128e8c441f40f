package docs

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// plain lists words that readers did not understand, with the words to write
// instead. Each of the old words had several meanings, or was a term of this
// project only.
var plain = []struct{ avoid, write string }{
	{`(?:tells|says|tell|say) whether`, `reports whether`},
	{`patience`, `what it bounds: callerTimeout, maxWitnessFailures`},
	{`soonest`, `minDelay`},
	{`liars?`, `contradicting`},
	{`strangers?`, `foreign`},
	{`remedy`, `withBackoff`},
	{`crowd(?:s|ed)?`, `budget, over budget`},
	{`pacer?`, `limiter`},
	{`roster`, `peers`},
	{`last look`, `final check`},
	{`the cloud's word`, `what the cloud has said`},
	{`has not done it`, `failed`},
	{`gives? way`, `stops, waits`},
	{`(?:is|are)(?: not)? to be seen`, `is visible, is known`},
}

// TestPlainWords fails for words in code, comments and documents that
// the glossary in docs/contributing/words.md has replaced. Code about renamed flags
// has to contain the old words.
func TestPlainWords(t *testing.T) {
	for _, file := range files(t, ".md", ".go") {
		if strings.HasPrefix(file, "internal/docs/") {
			continue
		}
		if strings.HasPrefix(filepath.Base(file), "renamed") {
			continue
		}
		text := unbroken(read(t, file))
		for _, word := range plain {
			for _, found := range regexp.MustCompile(`(?i)\b(?:`+word.avoid+`)\b`).FindAllString(text, -1) {
				t.Errorf("%s has %q: write %s", file, found, word.write)
			}
		}
	}
}
