package report

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes a page for people. The file beside it holds the same for
// programs.
func (r Report) WriteMarkdown(w io.Writer, jsonFile string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# Benchmark of %s\n\n", r.Date)
	fmt.Fprintf(&text, "How to read and to repeat this: [README](README.md). All numbers, also those that the table adds up: [%[1]s](%[1]s).\n\n", jsonFile)
	m := r.Machine
	fmt.Fprintf(&text, "- Machine: %s, %d cores, %d GiB, %s, Linux %s, %s\n", m.CPU, m.Cores, (m.MemoryBytes+1<<29)>>30, m.System, m.Kernel, m.Go)
	for _, p := range r.Programs {
		fmt.Fprintf(&text, "- %s: `%s`\n", p.Name, p.Version)
	}
	fmt.Fprintf(&text, "- It took %.0f minutes.\n", r.Seconds/60)
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
