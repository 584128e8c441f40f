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

// columns describes the table in which a list is printed.
type columns[T any] struct {
	none string // printed instead of an empty table
	head []string
	row  func(T) []string
}

// printList prints all items as a table or as JSON. For JSON, it puts the items into the
// object that list returns.
func printList[T any](s *session, out io.Writer, all []T, list func(items []T) any, c columns[T]) error {
	if s.output == jsonOutput {
		return printJSON(out, list(append([]T{}, all...))) // [] instead of null
	}
	if len(all) == 0 {
		return s.say(out, "%s", c.none)
	}
	rows := [][]string{c.head}
	for _, item := range all {
		rows = append(rows, c.row(item))
	}
	return printTable(out, rows)
}

func (s *session) printInstances(out io.Writer, all []simulator.Instance) error {
	list := func(items []simulator.Instance) any { return simulator.InstanceList{Items: items} }
	return printList(s, out, all, list, columns[simulator.Instance]{
		none: "No instances. `simcloud create NAME` creates one.",
		head: []string{"ID", "NAME", "STATE", "TYPE", "ZONE", "ADDRESSES", "LABELS"},
		row: func(i simulator.Instance) []string {
			return []string{i.ID, i.Name, string(i.State), i.Type, i.Zone, addressList(i.Addresses), pairList(i.Labels)}
		},
	})
}

func (s *session) printInstance(out io.Writer, i simulator.Instance) error {
	if s.output == jsonOutput {
		return printJSON(out, i)
	}
	rows := [][]string{
		{"ID:", i.ID},
		{"Name:", i.Name},
		{"State:", string(i.State)},
		{"Type:", i.Type},
		{"Zone:", i.Zone},
		{"Region:", i.Region},
	}
	for n, a := range i.Addresses {
		rows = append(rows, []string{heading(n, "Addresses:"), string(a.Type) + "=" + a.Address})
	}
	return printTable(out, append(rows, pairRows("Labels:", i.Labels)...))
}

func heading(n int, text string) string {
	if n > 0 {
		return ""
	}
	return text
}

// printDone prints an instance that a command has changed. The output is JSON, or
// one line that says what has happened.
func (s *session) printDone(out io.Writer, i simulator.Instance, what string) error {
	if s.output == jsonOutput {
		return printJSON(out, i)
	}
	return s.say(out, "Instance %s (%s) %s %s: %s, %s, %s", i.ID, i.Name, what, i.State,
		orNone(i.Type, "no type"), orNone(addressList(i.Addresses), "no addresses"), orNone(pairList(i.Labels), "no labels"))
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
