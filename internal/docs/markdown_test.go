package docs

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page has the headings and links of a Markdown file.
type page struct {
	// sections has the texts of the headings.
	sections []string
	// anchors has the names with which links refer to sections.
	anchors map[string]bool
	// links has the targets of all links and pictures.
	links []string
}

var (
	heading  = regexp.MustCompile(`^#{1,6} +(.*?) *#*$`)
	link     = regexp.MustCompile(`!?\[[^\]]*\]\(([^)\s]+)(?: "[^"]*")?\)`)
	named    = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	code     = regexp.MustCompile("`[^`]*`")
	unspoken = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// parse returns the headings and links of a Markdown text.
func parse(text string) page {
	p := page{anchors: map[string]bool{}}
	times := map[string]int{}
	fenced := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		if m := heading.FindStringSubmatch(line); m != nil {
			p.sections = append(p.sections, m[1])
			anchor := slug(m[1])
			if n := times[anchor]; n > 0 {
				p.anchors[fmt.Sprintf("%s-%d", anchor, n)] = true
			}
			times[anchor]++
			p.anchors[anchor] = true
		}
		for _, m := range named.FindAllStringSubmatch(line, -1) {
			p.anchors[m[1]] = true
		}
		// Code can be the text of a link, but it cannot contain a link.
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(line, "code"), -1) {
			p.links = append(p.links, m[1])
		}
	}
	return p
}

// slug returns the anchor that GitHub gives to a heading.
func slug(text string) string {
	text = link.ReplaceAllStringFunc(text, func(l string) string { return l[1:strings.Index(l, "]")] })
	return strings.ReplaceAll(unspoken.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
}

func TestParse(t *testing.T) {
	p := parse("# A `b` page, 1.2\n[`x`](a.md#b) ![p](p.png \"title\")\n```\n# no heading\n[no](link)\n```\n## Twice\n## Twice\n`[no](link)`\n")
	got := fmt.Sprint(p.links, slices.Sorted(maps.Keys(p.anchors)))
	if want := "[a.md#b p.png] [a-b-page-12 twice twice-1]"; got != want {
		t.Errorf("links and anchors are %s, want %s", got, want)
	}
}
