package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/scenario"
)

// progress shows the events of the benchmark. On a terminal, the last line is a summary
// of the progress.
type progress struct {
	out      *os.File
	terminal bool
	clock    clock.PassiveClock
	began    time.Time
	all      int
	done     int
	running  []string
}

func show(out *os.File, all int, c clock.PassiveClock) *progress {
	info, err := out.Stat()
	return &progress{out: out, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0, clock: c, began: c.Now(), all: all}
}

// tell shows an event.
func (p *progress) tell(e scenario.Event) {
	switch {
	case e.Began:
		p.running = append(p.running, e.Trial)
	case e.Done:
		p.done++
		p.running = slices.DeleteFunc(p.running, func(trial string) bool { return trial == e.Trial })
	}
	p.clear()
	if e.Text != "" {
		p.print("%s  %*d/%d  %-34s %s\n", e.At.Format(time.TimeOnly), len(strconv.Itoa(p.all)), p.done, p.all, e.Trial, strings.TrimRight(e.Text, "\n"))
	}
	if p.terminal {
		p.print("%s", p.status())
	}
}

func (p *progress) print(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, format, args...) // If this fails, nobody reads the progress.
}

// status returns the last line for a terminal.
func (p *progress) status() string {
	const width = 100
	text := fmt.Sprintf("%.0f min, %d of %d runs done, running: %s", p.clock.Since(p.began).Minutes(), p.done, p.all, strings.Join(p.running, ", "))
	if len(text) > width {
		text = text[:width-3] + "..."
	}
	return text
}

// end removes the status.
func (p *progress) end() { p.clear() }

func (p *progress) clear() {
	if p.terminal {
		p.print("\r\x1b[K")
	}
}
