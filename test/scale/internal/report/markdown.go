package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// WriteMarkdown writes a page for people. The JSON file in the same folder has the
// same data for programs.
func (r Report) WriteMarkdown(w io.Writer, jsonFile string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# Benchmark of %s\n\n", r.Date)
	fmt.Fprintf(&text, "How to read and to repeat this: [README](README.md). All numbers, also those that the table adds up: [%[1]s](%[1]s).\n\n", jsonFile)
	m := r.Machine
	fmt.Fprintf(&text, "- Machine: %s, %d cores, %d GiB, %s, Linux %s, %s; load before: %.1f\n",
		m.CPU, m.Cores, (m.MemoryBytes+1<<29)>>30, m.System, m.Kernel, m.Go, m.Load)
	for _, p := range r.Programs {
		fmt.Fprintf(&text, "- %s: `%s`\n", p.Name, p.Version)
	}
	fmt.Fprintf(&text, "- Flags of the benchmark: `%s`\n- It took %.0f minutes.\n", r.flags(), r.Seconds/60)
	text.WriteString("\n## Results\n\n")
	writeAligned(&text, r.table(), " | ", "|")
	if table := r.scaling(); table != nil {
		text.WriteString("\n## What a Node costs\n\nScenarios `scale-*` and `init`: Nodes are initialised.\n\n")
		writeAligned(&text, table, " | ", "|")
	}
	if table := r.overTime(); table != nil {
		text.WriteString("\n## Minute by minute\n\nRuns of more than a minute, and those with refused calls. The last minute may be shorter.\n\n")
		writeAligned(&text, table, " | ", "|")
	}
	r.writeScenarios(&text)
	_, err := io.WriteString(w, strings.TrimRight(text.String(), "\n")+"\n")
	return err
}

// flags returns the flags that have a value, sorted by name.
func (r Report) flags() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r.Flags)) {
		if value := r.Flags[name]; value != "" {
			all = append(all, "-"+name+"="+value)
		}
	}
	return strings.Join(all, " ")
}

func (r Report) writeScenarios(text *strings.Builder) {
	text.WriteString("\n## Scenarios\n\n")
	for _, rows := range r.scenarios() {
		fmt.Fprintf(text, "**%s**: %s", rows[0].Scenario, rows[0].What)
		for _, row := range rows {
			if len(row.Flags) > 0 {
				fmt.Fprintf(text, " %s runs with `%s`.", row.Contender, strings.Join(row.Flags, " "))
			}
		}
		for _, row := range rows {
			if row.TookSeconds > 0 {
				fmt.Fprintf(text, " The run of %s took %s.", row.Contender, seconds(row.TookSeconds))
			}
		}
		text.WriteString("\n\n")
	}
}

// overTime returns the table of the calls and the memory in each minute.
func (r Report) overTime() [][]string {
	table := [][]string{{"scenario", "contender", "cloud calls", "refused", "memory in MB"}}
	for _, row := range r.Rows {
		if row.Error != "" || row.Series == nil {
			continue
		}
		s := row.Series
		calls := s.byMinute(s.Calls)
		if len(calls) < 2 && row.Throttled == 0 {
			continue
		}
		var memory []int
		for _, bytes := range s.memoryByMinute() {
			memory = append(memory, int(bytes>>20))
		}
		table = append(table, []string{row.Scenario, row.Contender, list(calls), list(s.byMinute(s.Refused)), list(memory)})
	}
	if len(table) < 2 {
		return nil
	}
	return table
}

func list(counts []int) string {
	texts := make([]string, len(counts))
	for n, count := range counts {
		texts[n] = strconv.Itoa(count)
	}
	return strings.Join(texts, ", ")
}
