package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Scaling returns the runs that differ only in contender, fast paths and number of
// Nodes. They are sorted by contender, then by fast paths (first with, then without),
// then by the number of Nodes.
func (r Report) Scaling() []Row {
	var rows []Row
	for _, row := range r.Rows {
		_, done := row.Fact(AllInitialized)
		if done && row.Nodes > 0 && (row.Scenario == "init" || row.Scenario == "init-plain" || strings.HasPrefix(row.Scenario, "scale-")) {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(x, y Row) int {
		return cmp.Or(cmp.Compare(x.Contender, y.Contender), -cmp.Compare(x.FastPaths, y.FastPaths), cmp.Compare(x.Nodes, y.Nodes))
	})
	return rows
}

// Label returns the contender. If Fairlead ran without fast paths, the label says so.
func (r Row) Label() string {
	if r.FastPaths == "off" && r.Contender == "fairlead" {
		return r.Contender + ", without fast paths"
	}
	return r.Contender
}

// scaling returns the table of the cost of a Node. It returns nil if only one
// size was measured.
func (r Report) scaling() [][]string {
	rows := r.Scaling()
	sizes := map[int]bool{}
	table := [][]string{{"contender", "Nodes", "the median Node", "all initialised", "cloud calls", "… for each Node", "CPU for each Node", "API writes for each Node", "peak memory"}}
	for _, row := range rows {
		sizes[row.Nodes] = true
		median, _ := row.Fact(MedianNode)
		all, _ := row.Fact(AllInitialized)
		each := func(n float64) string { return digits(n / float64(row.Nodes)) }
		table = append(table, []string{
			row.Label(), Grouped(row.Nodes), median.Text(), all.Text(), Grouped(row.Calls()), each(float64(row.Calls())),
			each(1000*row.CPUSeconds) + " ms", each(float64(row.Writes())), Megabytes(row.PeakBytes),
		})
	}
	if len(sizes) < 2 {
		return nil
	}
	return table
}

// Grouped writes a number with a comma between thousands.
func Grouped(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Megabytes writes a size in bytes as a number of MB.
func Megabytes(bytes int64) string { return strconv.FormatInt(bytes>>20, 10) + " MB" }
