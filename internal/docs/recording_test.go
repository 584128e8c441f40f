package docs

import (
	"encoding/xml"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const recording = "docs/pictures/demo.svg"

// drawn has the parts of the recording that the test reads.
type drawn struct {
	Title string `xml:"title"`
	Style string `xml:"style"`
	Text  []struct {
		Y    int    `xml:"y,attr"`
		Took string `xml:"tspan"`
		Rest string `xml:",chardata"`
	} `xml:"text"`
}

// TestRecording checks the README's recording. The recorded command must be a target of
// make, and the demo must be able to print the recorded lines.
func TestRecording(t *testing.T) {
	svg := read(t, recording)
	if len(svg) > 200_000 {
		t.Errorf("%s has %d bytes", recording, len(svg))
	}
	var d drawn
	if err := xml.Unmarshal([]byte(svg), &d); err != nil {
		t.Fatal(err)
	}
	if d.Title == "" || !strings.Contains(d.Style, "prefers-color-scheme: dark") || !strings.Contains(d.Style, "prefers-reduced-motion") {
		t.Errorf("%s needs a title, dark colours and a form without motion", recording)
	}
	lines := d.lines()
	if len(lines) < 10 {
		t.Fatalf("%s has %d lines", recording, len(lines))
	}
	target, ok := strings.CutPrefix(lines[0], "$ make ")
	if !ok || !regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(target)+`:`).MatchString(read(t, "Makefile")) {
		t.Errorf("%q is no target of make", lines[0])
	}
	known := phrases(t)
	for _, line := range lines[1:] {
		step := regexp.MustCompile(`^(?: *\d+\.\d s| {8})  (\S.*)`).FindStringSubmatch(line)
		if step != nil && !slices.ContainsFunc(known, func(p *regexp.Regexp) bool { return p.MatchString(step[1]) }) {
			t.Errorf("the demo does not print %q any more: make recording", step[1])
		}
	}
	if !strings.Contains(read(t, "README.md"), "]("+recording+")") {
		t.Error("README.md does not show the recording")
	}
}

// lines returns the lines of the recording. A gap in the picture is an empty line.
func (d drawn) lines() []string {
	var lines []string
	row := 0
	for i, text := range d.Text {
		if i == 1 {
			row = text.Y - d.Text[0].Y
		}
		for row > 0 && text.Y > d.Text[0].Y+row*len(lines) {
			lines = append(lines, "")
		}
		lines = append(lines, text.Took+text.Rest)
	}
	return lines
}

// phrases returns patterns for the texts that the demo can print.
func phrases(t *testing.T) []*regexp.Regexp {
	t.Helper()
	verb := regexp.MustCompile(`%[a-z]`)
	var found []*regexp.Regexp
	for _, source := range files(t, ".go") {
		if !strings.HasPrefix(source, "playground/") || strings.HasSuffix(source, "_test.go") {
			continue
		}
		for _, text := range literals(parsed(t, token.NewFileSet(), source)) {
			// Texts with few words are left out, because "%s: %s" would match
			// everything.
			if strings.Count(verb.ReplaceAllString(text, ""), " ") >= 2 {
				found = append(found, regexp.MustCompile("^"+verb.ReplaceAllString(regexp.QuoteMeta(text), ".*")+"$"))
			}
		}
	}
	return found
}
