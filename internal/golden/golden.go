// Package golden compares what a test makes from code with a file of the repository.
// "make generate" runs these tests with -generate, and then they write the files. Only
// tests import this package.
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var generate = flag.Bool("generate", false, "write the files that are made from code")

// End is the line after the generated part of a page.
const End = "<!-- end -->\n"

// Compare reports an error if the file does not have this content. The source is what
// a developer has to edit to change the file. With -generate, Compare writes the file
// instead.
func Compare(t *testing.T, file, content, source string) {
	t.Helper()
	have, err := os.ReadFile(file)
	switch {
	case err == nil && string(have) == content:
	case *generate:
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	case err != nil:
		t.Errorf("run make generate: %v. The file is made from %s.", err, source)
	default:
		t.Errorf("%s is stale: run make generate. To change what it says, edit %s. (-file +code)\n%s", file, source, cmp.Diff(string(have), content))
	}
}

// CompareBetween is Compare for a part of a page: the lines between the line that
// ends with begin and the line End.
func CompareBetween(t *testing.T, file, begin, content, source string) {
	t.Helper()
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), begin+"\n")
	_, after, closed := strings.Cut(rest, End)
	if !found || !closed {
		t.Fatalf("%s has no lines between %q and %q", file, begin, End)
	}
	Compare(t, file, before+begin+"\n"+content+End+after, source)
}
