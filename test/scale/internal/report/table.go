package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// heading has the headings of the table's columns.
var heading = []string{
	"scenario", "contender", "healthy nodes deleted", "outcome",
	"cloud calls", "429", "API writes", "events", "API reads", "CPU", "peak memory",
}

// cells returns the cells of the row without the first one, which names the scenario.
func (r Row) cells() []string {
	if r.Error != "" {
		return []string{r.Contender, "", r.outcome(), "", "", "", "", "", "", ""}
	}
	return []string{
		r.Contender, strconv.Itoa(r.HealthyNodesDeleted), r.outcome(),
		strconv.Itoa(r.Calls()), r.refused(), strconv.Itoa(r.Writes()), strconv.Itoa(r.Events), strconv.Itoa(r.Reads()),
		seconds(r.CPUSeconds), Megabytes(r.PeakBytes),
	}
}

// refused returns a text with the number of calls that the quota refused, and their
// share of all calls.
func (r Row) refused() string {
	if r.Throttled == 0 {
		return "0"
	}
	return fmt.Sprintf("%d (%.1f %%)", r.Throttled, 100*float64(r.Throttled)/float64(r.Calls()))
}

// table returns the table of results. It names each scenario once, in its first row.
func (r Report) table() [][]string {
	table := [][]string{heading}
	for _, rows := range r.scenarios() {
		name := rows[0].Scenario
		for _, row := range rows {
			table = append(table, slices.Concat([]string{name}, row.cells()))
			name = ""
		}
	}
	return table
}

// WriteTable writes the table for a terminal.
func (r Report) WriteTable(w io.Writer) error {
	var text strings.Builder
	writeAligned(&text, r.table(), "  ", "")
	_, err := io.WriteString(w, text.String())
	return err
}

// writeAligned writes the cells in aligned columns.
func writeAligned(text *strings.Builder, table [][]string, between, around string) {
	widths := make([]int, len(table[0]))
	for _, row := range table {
		for n, cell := range row {
			widths[n] = max(widths[n], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range table {
		writeLine(text, row, widths, between, around)
		if n == 0 && around != "" {
			rule := make([]string, len(row))
			for n := range row {
				rule[n] = strings.Repeat("-", max(widths[n], 3))
			}
			writeLine(text, rule, widths, between, around)
		}
	}
}

func writeLine(text *strings.Builder, row []string, widths []int, between, around string) {
	padded := make([]string, len(row))
	for n, cell := range row {
		padded[n] = cell + strings.Repeat(" ", max(widths[n]-utf8.RuneCountInString(cell), 0))
	}
	line := strings.Join(padded, between)
	if around != "" {
		line = around + " " + line + " " + around
	}
	text.WriteString(strings.TrimRight(line, " ") + "\n")
}

// numbers matches a list of numbers, one on each line.
var numbers = regexp.MustCompile(`\[\s+(?:\d+,\s+)*\d+\s+\]`)

// WriteJSON writes the report as JSON, with each list of numbers on one line.
func (r Report) WriteJSON(w io.Writer) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	text = numbers.ReplaceAllFunc(text, func(list []byte) []byte {
		return bytes.ReplaceAll(bytes.Join(bytes.Fields(list), nil), []byte(","), []byte(", "))
	})
	_, err = w.Write(append(text, '\n'))
	return err
}

// Failed returns the names of the rows that have an error.
func (r Report) Failed() []string {
	var names []string
	for _, row := range r.Rows {
		if row.Error != "" {
			names = append(names, row.Scenario+"/"+row.Contender)
		}
	}
	return names
}

// scenarios groups the rows by scenario. The groups are in the order of their
// first rows.
func (r Report) scenarios() [][]Row {
	var all [][]Row
	for _, row := range r.Rows {
		n := slices.IndexFunc(all, func(rows []Row) bool { return rows[0].Scenario == row.Scenario })
		if n < 0 {
			all = append(all, []Row{row})
			continue
		}
		all[n] = append(all[n], row)
	}
	return all
}
