package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// WriteMarkdown writes a page for people. The file beside it holds the same for
// programs.
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
	text.WriteString("\n## Scenarios\n\n")
	for _, rows := range r.scenarios() {
		fmt.Fprintf(&text, "**%s**: %s", rows[0].Scenario, rows[0].What)
		for _, row := range rows {
			if len(row.Flags) > 0 {
				fmt.Fprintf(&text, " %s runs with `%s`.", row.Contender, strings.Join(row.Flags, " "))
			}
		}
		text.WriteString("\n\n")
	}
	_, err := io.WriteString(w, strings.TrimRight(text.String(), "\n")+"\n")
	return err
}

// flags are those that are not empty, in order.
func (r Report) flags() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r.Flags)) {
		if value := r.Flags[name]; value != "" {
			all = append(all, "-"+name+"="+value)
		}
	}
	return strings.Join(all, " ")
}
