package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fairlead-k8s/fairlead/internal/printable"
	"github.com/fairlead-k8s/fairlead/simulator"
)

func heading(n int, text string) string {
	if n > 0 {
		return ""
	}
	return text
}

// report prints a resource that a command has changed: as JSON, or one line that says
// what has happened.
func (s *session) report(out io.Writer, resource any, format string, args ...any) error {
	if s.output == jsonOutput {
		return printJSON(out, resource)
	}
	return s.say(out, format, args...)
}

// addressRows returns addresses in rows under a heading.
func addressRows(all []simulator.Address) [][]string {
	var rows [][]string
	for n, a := range all {
		rows = append(rows, []string{heading(n, "Addresses:"), string(a.Type) + "=" + a.Address})
	}
	return rows
}

func addressList(all []simulator.Address) string {
	var words []string
	for _, a := range all {
		words = append(words, string(a.Type)+"="+a.Address)
	}
	return strings.Join(words, ",")
}

// pairList returns labels or tags as one cell of a table.
func pairList(pairs map[string]string) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		words = append(words, key+"="+pairs[key])
	}
	return strings.Join(words, ",")
}

// pairRows returns labels or tags in rows under a heading.
func pairRows(text string, pairs map[string]string) [][]string {
	var rows [][]string
	for n, key := range slices.Sorted(maps.Keys(pairs)) {
		rows = append(rows, []string{heading(n, text), key + "=" + pairs[key]})
	}
	return rows
}

func orNone(text, none string) string {
	if text == "" {
		return none
	}
	return text
}

// textLimit is the maximum length of a cell or a line, in bytes.
const textLimit = 4096

func printTable(out io.Writer, rows [][]string) error {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		var cells []string
		for _, cell := range row {
			cells = append(cells, printable.Line(cell, textLimit))
		}
		if _, err := fmt.Fprintln(w, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		// An empty last column would leave spaces at the end of the line.
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(printable.JSON(out))
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
