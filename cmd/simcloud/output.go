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

	"github.com/fairlead-k8s/fairlead/simulator"
)

func (s *session) printInstances(out io.Writer, all []simulator.Instance) error {
	if s.output == jsonOutput {
		if all == nil {
			all = []simulator.Instance{}
		}
		return printJSON(out, simulator.InstanceList{Items: all})
	}
	if len(all) == 0 {
		return s.say(out, "No instances. `simcloud create NAME` creates one.")
	}
	rows := [][]string{{"ID", "NAME", "STATE", "TYPE", "ZONE", "ADDRESSES", "LABELS"}}
	for _, i := range all {
		rows = append(rows, []string{i.ID, i.Name, string(i.State), i.Type, i.Zone, addressList(i), labelList(i)})
	}
	return printTable(out, rows)
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
	for n, key := range slices.Sorted(maps.Keys(i.Labels)) {
		rows = append(rows, []string{heading(n, "Labels:"), key + "=" + i.Labels[key]})
	}
	return printTable(out, rows)
}

func heading(n int, text string) string {
	if n > 0 {
		return ""
	}
	return text
}

// printDone says in one line what has become of an instance.
func (s *session) printDone(out io.Writer, i simulator.Instance, what string) error {
	if s.output == jsonOutput {
		return printJSON(out, i)
	}
	return s.say(out, "Instance %s (%s) %s %s: %s, %s, %s", i.ID, i.Name, what, i.State,
		orNone(i.Type, "no type"), orNone(addressList(i), "no addresses"), orNone(labelList(i), "no labels"))
}

func addressList(i simulator.Instance) string {
	var words []string
	for _, a := range i.Addresses {
		words = append(words, string(a.Type)+"="+a.Address)
	}
	return strings.Join(words, ",")
}

func labelList(i simulator.Instance) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(i.Labels)) {
		words = append(words, key+"="+i.Labels[key])
	}
	return strings.Join(words, ",")
}

func orNone(text, none string) string {
	if text == "" {
		return none
	}
	return text
}

func printTable(out io.Writer, rows [][]string) error {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		// An empty last column leaves spaces behind.
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

func printJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
