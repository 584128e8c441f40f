package docs

import (
	"go/token"
	"regexp"
	"strings"
	"testing"
)

const upstreamPage = "docs/reference/upstream-behaviour.md"

// A citation names one section or several: "upstream-behaviour 5.2, 10.3".
var (
	citation = regexp.MustCompile(`upstream-behaviour((?:(?:,| and)? \d+(?:\.\d+)?)+)`)
	section  = regexp.MustCompile(`^\d+(?:\.\d+)?`)
	numbers  = regexp.MustCompile(`\d+(?:\.\d+)?`)
)

// TestCitedSectionsExist checks that comments and pages cite only sections of
// upstream-behaviour.md that exist.
func TestCitedSectionsExist(t *testing.T) {
	known := map[string]bool{}
	for _, s := range parse(read(t, upstreamPage)).sections {
		if number := section.FindString(s); number != "" {
			known[number] = true
		}
	}
	cited := 0
	for file, text := range prose(t) {
		for _, m := range citation.FindAllStringSubmatch(text, -1) {
			for _, number := range numbers.FindAllString(m[1], -1) {
				cited++
				if !known[number] {
					t.Errorf("%s cites upstream-behaviour %s, and %s has no such section", file, number, upstreamPage)
				}
			}
		}
	}
	if cited < 10 {
		t.Errorf("found %d citations of %s", cited, upstreamPage)
	}
}

// prose returns the text of every Markdown file and the comments of every Go
// file, by path. Line breaks are replaced by spaces.
func prose(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, file := range files(t, ".md", ".go") {
		switch {
		case strings.HasPrefix(file, "internal/docs/"): // This package contains the patterns that it refuses.
		case strings.HasSuffix(file, ".md"):
			all[file] = unbroken(read(t, file))
		default:
			for _, comment := range parsed(t, token.NewFileSet(), file).Comments {
				all[file] += unbroken(comment.Text()) + " "
			}
		}
	}
	return all
}

func unbroken(text string) string { return strings.Join(strings.Fields(text), " ") }
