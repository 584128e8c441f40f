package main

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// line is a line of the output, with the time at which it was read.
type line struct {
	at   time.Duration
	text string
}

// picture has the contents of the drawing.
type picture struct {
	command, title string
	lines          []line
}

// Sizes in pixels. A column is as wide as a character in most fonts of this size. If a
// font is wider, the attribute textLength squeezes the text.
const (
	fontSize = 13
	column   = 7.8
	row      = 19
	margin   = 16
)

// style respects the reader's preferences for dark or light colours and for
// motion. A line is invisible until its time. Without animation it is visible at
// once.
const style = `
svg { color-scheme: light dark }
rect { fill: #f6f8fa; stroke: #d0d7de }
text { font: %dpx ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #1f2328; white-space: pre }
.command { font-weight: bold; fill: #0550ae }
.took { fill: #57606a }
.line { animation: wait var(--at) }
@keyframes wait { from, to { opacity: 0 } }
@media (prefers-color-scheme: dark) {
  rect { fill: #0d1117; stroke: #30363d }
  text { fill: #e6edf3 }
  .command { fill: #79c0ff }
  .took { fill: #9198a1 }
}
@media (prefers-reduced-motion: reduce) { .line { animation: none } }
`

// took matches the duration at the beginning of a line about a step.
var took = regexp.MustCompile(`^ *\d+\.\d s`)

// before returns the lines before the first line that matches. It drops empty lines
// at the end.
func before(lines []line, end *regexp.Regexp) []line {
	if n := slices.IndexFunc(lines, func(l line) bool { return end.MatchString(l.text) }); n >= 0 {
		lines = lines[:n]
	}
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1].text) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// draw returns the picture as SVG.
func draw(p picture) string {
	command := "$ " + p.command
	columns := utf8.RuneCountInString(command)
	for _, l := range p.lines {
		columns = max(columns, utf8.RuneCountInString(l.text))
	}
	width, height := int(float64(columns)*column)+2*margin, row*(len(p.lines)+1)+2*margin
	var svg strings.Builder
	fmt.Fprintf(&svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-labelledby=\"title\">\n", width, height, width, height)
	fmt.Fprintf(&svg, "<title id=\"title\">%s</title>\n<style>"+style+"</style>\n", html.EscapeString(p.title), fontSize)
	fmt.Fprintf(&svg, "<rect x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"8\"/>\n", width-1, height-1)
	y := margin + fontSize
	fmt.Fprintf(&svg, "<text class=\"command\" x=\"%d\" y=\"%d\">%s</text>\n", margin, y, html.EscapeString(command))
	for _, l := range p.lines {
		y += row
		if l.text == "" {
			continue
		}
		text := html.EscapeString(l.text)
		if t := took.FindString(l.text); t != "" {
			text = "<tspan class=\"took\">" + t + "</tspan>" + strings.TrimPrefix(text, t)
		}
		fmt.Fprintf(&svg, "<text class=\"line\" style=\"--at: %.2fs\" x=\"%d\" y=\"%d\" textLength=\"%.0f\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\">%s</text>\n",
			l.at.Seconds(), margin, y, float64(utf8.RuneCountInString(l.text))*column, text)
	}
	svg.WriteString("</svg>\n")
	return svg.String()
}
