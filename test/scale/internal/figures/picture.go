package figures

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

// PictureFile is the picture's name in the folder of results.
const PictureFile = "scale.svg"

// alternative describes the picture for those who cannot see it.
const alternative = "How long it takes to initialise all Nodes, and how many calls of the cloud, against the number of Nodes"

// newestScaling returns the newest result with clusters of several sizes.
func (all Results) newestScaling() (Result, bool) {
	n := slices.IndexFunc(all, func(r Result) bool {
		rows := r.Scaling()
		return slices.ContainsFunc(rows, func(row report.Row) bool { return row.Nodes != rows[0].Nodes })
	})
	if n < 0 {
		return Result{}, false
	}
	return all[n], true
}

// Picture returns the picture as SVG. It is empty if no result has clusters of
// several sizes.
func (all Results) Picture() string {
	r, ok := all.newestScaling()
	if !ok {
		return ""
	}
	curves := curvesOf(r.Scaling())
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" font-family="system-ui, sans-serif" font-size="13" fill="#222">`+"\n", width, height)
	fmt.Fprintf(&svg, "<title>%s</title>\n<desc>Made from %s.json. Both axes are logarithmic.</desc>\n", alternative, r.Name)
	fmt.Fprintf(&svg, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	for n, c := range curves {
		x := margin + n*130
		fmt.Fprintf(&svg, `<path d="M%d 22h32" %s/>%s<text x="%d" y="27">%s</text>`+"\n",
			x, c.stroke(), dot(float64(x+16), 22, c), x+40, html.EscapeString(c.label))
	}
	newPanel(margin, "time until all Nodes are initialised", "s", curves, func(p point) float64 { return p.seconds }).draw(&svg)
	newPanel(margin+panelWidth+gap, "calls of the cloud", "", curves, func(p point) float64 { return p.calls }).draw(&svg)
	svg.WriteString("</svg>\n")
	return svg.String()
}

// The dimensions of the picture.
const (
	width, height         = 900, 400
	margin                = 60
	panelTop, panelBottom = 80, 350
	panelWidth, gap       = 320, 110
	labelDistance         = 14
)

// curve is the line of one contender.
type curve struct {
	label, colour, dashes string
	points                []point
}

// stroke returns the SVG attributes of the line.
func (c curve) stroke() string {
	text := fmt.Sprintf(`fill="none" stroke="%s" stroke-width="2.5" stroke-linejoin="round"`, c.colour)
	if c.dashes != "" {
		text += fmt.Sprintf(` stroke-dasharray="%s"`, c.dashes)
	}
	return text
}

type point struct{ nodes, seconds, calls float64 }

// curvesOf returns the curves. The skeleton's curve comes first, so that the
// others are drawn over it.
func curvesOf(rows []report.Row) []curve {
	looks := []curve{
		{label: "skeleton", colour: "#b5482a"},
		{label: "fairlead", colour: "#0b7a4b"},
		{label: "fairlead, without fast paths", colour: "#2f6fb1", dashes: "7 6"}, // This curve is dashed, because it may lie on the skeleton's curve.
	}
	var curves []curve
	for _, c := range looks {
		for _, row := range rows {
			if all, done := row.Fact(report.AllInitialized); row.Label() == c.label && done && all.Seconds > 0 && row.Calls() > 0 {
				c.points = append(c.points, point{float64(row.Nodes), all.Seconds, float64(row.Calls())})
			}
		}
		if len(c.points) > 0 {
			curves = append(curves, c)
		}
	}
	return curves
}

// panel is one diagram. Its axes are logarithmic.
type panel struct {
	left        int
	title, unit string
	curves      []curve
	value       func(point) float64
	x, y        axis
}

// axis converts values to positions in the picture.
type axis struct {
	low, high float64 // the logarithms of the ends
	from, to  float64 // the positions of the ends
}

func (a axis) at(value float64) float64 {
	return a.from + (math.Log10(value)-a.low)/(a.high-a.low)*(a.to-a.from)
}

func newPanel(left int, title, unit string, curves []curve, value func(point) float64) panel {
	var sizes, values []float64
	for _, c := range curves {
		for _, p := range c.points {
			sizes, values = append(sizes, p.nodes), append(values, value(p))
		}
	}
	low, high := math.Floor(math.Log10(slices.Min(values))), math.Ceil(math.Log10(slices.Max(values)))
	return panel{
		left: left, title: title, unit: unit, curves: curves, value: value,
		x: axis{math.Log10(slices.Min(sizes)), math.Log10(slices.Max(sizes)), float64(left), float64(left + panelWidth)},
		y: axis{low, max(high, low+1), panelBottom, panelTop},
	}
}

func (p panel) draw(svg *strings.Builder) {
	fmt.Fprintf(svg, `<text x="%d" y="%d" font-weight="600">%s</text>`+"\n", p.left, panelTop-18, p.title)
	for decade := p.y.low; decade <= p.y.high; decade++ {
		value := math.Pow(10, decade)
		y := p.y.at(value)
		fmt.Fprintf(svg, `<path d="M%d %.1fh%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			p.left, y, panelWidth, p.left-8, y+4, p.text(value))
	}
	p.drawSizes(svg)
	for _, c := range p.curves {
		var path strings.Builder
		for n, at := range c.points {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(n, 1)], p.x.at(at.nodes), p.y.at(p.value(at)))
		}
		fmt.Fprintf(svg, `<path d="%s" %s/>`+"\n", path.String(), c.stroke())
		for _, at := range c.points {
			svg.WriteString(dot(p.x.at(at.nodes), p.y.at(p.value(at)), c) + "\n")
		}
	}
	p.drawEnds(svg)
}

// drawSizes marks the numbers of Nodes.
func (p panel) drawSizes(svg *strings.Builder) {
	var sizes []float64
	for _, c := range p.curves {
		for _, at := range c.points {
			sizes = append(sizes, at.nodes)
		}
	}
	slices.Sort(sizes)
	for _, nodes := range slices.Compact(sizes) {
		fmt.Fprintf(svg, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", p.x.at(nodes), panelBottom+20, report.Grouped(int(nodes)))
	}
	fmt.Fprintf(svg, `<text x="%d" y="%d" text-anchor="middle">Nodes</text>`+"\n", p.left+panelWidth/2, panelBottom+40)
}

// drawEnds writes the value of each curve for the largest cluster. If two values are
// close together, it moves the lower one down.
func (p panel) drawEnds(svg *strings.Builder) {
	type end struct {
		y            float64
		text, colour string
	}
	var ends []end
	for _, c := range p.curves {
		last := p.value(c.points[len(c.points)-1])
		ends = append(ends, end{p.y.at(last), p.text(last), c.colour})
	}
	slices.SortStableFunc(ends, func(a, b end) int { return int(a.y - b.y) })
	for n, e := range ends {
		if n > 0 && e.y < ends[n-1].y+labelDistance {
			e.y = ends[n-1].y + labelDistance
			ends[n] = e
		}
		fmt.Fprintf(svg, `<text x="%d" y="%.1f" fill="%s">%s</text>`+"\n", p.left+panelWidth+10, e.y+4, e.colour, e.text)
	}
}

// text returns a value with its unit.
func (p panel) text(value float64) string {
	text := report.Grouped(int(math.Round(value)))
	if value < 10 && p.unit != "" && value != math.Trunc(value) {
		text = fmt.Sprintf("%.1f", value)
	}
	return strings.TrimSpace(text + " " + p.unit)
}

func dot(x, y float64, c curve) string {
	return fmt.Sprintf(`<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`, x, y, c.colour)
}
