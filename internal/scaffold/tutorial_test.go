package scaffold

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const tutorial = "../../docs/tutorials/write-a-provider.md"

// block is one of the tutorial's: before it stands, in a comment, the file of
// the example that it is from.
var block = regexp.MustCompile("(?m)^(?:<!-- (.+) -->\n)?```(\\w+)\n((?s:.*?))^```$")

// TestTutorial holds that a reader finds in the example what the tutorial shows.
func TestTutorial(t *testing.T) {
	text, err := os.ReadFile(tutorial)
	if err != nil {
		t.Fatal(err)
	}
	blocks := block.FindAllStringSubmatch(string(text), -1)
	if want := strings.Count(string(text), "```") / 2; len(blocks) != want || want < 10 {
		t.Fatalf("found %d blocks of %d", len(blocks), want)
	}
	for _, b := range blocks {
		file, language, shown := b[1], b[2], b[3]
		switch {
		case language == "console" && file == "": // of Fairlead's checkout
		case language == "sh" && file == "test/e2e": // TestNewcomersRun runs it
		case file == "":
			t.Errorf("no comment says which file this is from:\n%s", shown)
		default:
			text, err := os.ReadFile(filepath.Join(example, file))
			if err != nil {
				t.Error(err)
			} else if !strings.Contains(string(text), shown) {
				t.Errorf("%s has no\n%s", file, shown)
			}
		}
	}
}
