package scaffold

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages maps each page that shows code to the folder of that code.
var pages = map[string]string{
	"../../docs/tutorials/write-a-provider.md": example,
	"../../docs/guides/move-your-ccm.md":       "../..",
	"../../docs/guides/replace-the-ccm.md":     "../..",
}

var (
	// block matches one code block of a page. The comment before the block names
	// the file.
	block = regexp.MustCompile("(?m)^(?:<!-- (.+) -->\n)? *```(\\w+)\n((?s:.*?))^ *```$")
	// remark matches a comment for linters.
	remark = regexp.MustCompile(" *//nolint:.*")
)

// TestPages checks that the code on a page is the code in the repository.
func TestPages(t *testing.T) {
	for page, root := range pages {
		t.Run(filepath.Base(page), func(t *testing.T) {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			blocks := block.FindAllStringSubmatch(string(text), -1)
			if want := strings.Count(string(text), "```") / 2; len(blocks) != want || want == 0 {
				t.Fatalf("found %d blocks of %d", len(blocks), want)
			}
			for _, b := range blocks {
				file, language, shown := b[1], b[2], b[3]
				switch {
				case file == "" && (language == "console" || language == "text"): // the block is not code of this repository
				case language == "sh" && file == "test/e2e": // an end-to-end test runs it
				case language == "gomod":
					for line := range strings.Lines(shown) {
						contains(t, filepath.Join(root, file), line)
					}
				case file == "":
					t.Errorf("no comment says which file this is from:\n%s", shown)
				default:
					contains(t, filepath.Join(root, file), shown)
				}
			}
		})
	}
}

func contains(t *testing.T, file, shown string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
	} else if !strings.Contains(remark.ReplaceAllString(string(text), ""), shown) {
		t.Errorf("%s has no\n%s", file, shown)
	}
}
