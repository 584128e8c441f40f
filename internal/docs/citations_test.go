package docs

import (
	"go/scanner"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

const (
	upstreamPage = "docs/reference/upstream-behaviour.md"
	promisesPage = "docs/promises.md"
)

// A citation names one section or several: "upstream-behaviour 5.2, 10.3".
var (
	citation = regexp.MustCompile(`upstream-behaviour((?:(?:,| and)? \d+(?:\.\d+)?)+)`)
	section  = regexp.MustCompile(`^\d+(?:\.\d+)?`)
	numbers  = regexp.MustCompile(`\d+(?:\.\d+)?`)
)

// nowhere matches citations of documents that are not in this repository.
var nowhere = regexp.MustCompile(`(?i)behaviour page|\bdesign(?:\.md)? section`)

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

// TestNothingCitesWhatIsNotHere fails for references to documents that a reader
// of the repository cannot open.
func TestNothingCitesWhatIsNotHere(t *testing.T) {
	for file, text := range prose(t) {
		for _, found := range nowhere.FindAllString(text, -1) {
			t.Errorf("%s refers to %q: cite a page of this repository", file, found)
		}
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
			all[file] = comments(read(t, file))
		}
	}
	return all
}

// comments returns the comments of a Go file.
func comments(source string) string {
	var (
		s     scanner.Scanner
		all   strings.Builder
		files = token.NewFileSet()
	)
	s.Init(files.AddFile("", files.Base(), len(source)), []byte(source), nil, scanner.ScanComments)
	for {
		_, kind, text := s.Scan()
		switch kind { //nolint:exhaustive // only comments and the end of the file matter here
		case token.EOF:
			return unbroken(all.String())
		case token.COMMENT:
			all.WriteString(strings.TrimLeft(text, "/*") + "\n")
		default:
		}
	}
}

func unbroken(text string) string { return strings.Join(strings.Fields(text), " ") }
