package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

// Bench runs scenarios.
type Bench struct {
	Settings Settings
	// Bin is the folder with all programs, Dir the one for logs and data, which
	// go with each trial unless Keep is set.
	Bin, Dir string
	Keep     bool
	Clock    clock.WithTicker
	// SideBySide is how many trials that mostly wait run at the same time.
	SideBySide int
	// Progress gets a line for each thing that happens. It is called from one
	// goroutine at a time.
	Progress func(string)

	mu sync.Mutex // guards calls of Progress
}

// Run runs each scenario with each contender, and returns a row for each. What
// needs the machine for itself comes first.
func (b *Bench) Run(ctx context.Context, scenarios []Scenario, contenders []contender.Name) []report.Row {
	rows := make([]report.Row, 0, len(scenarios)*len(contenders))
	var alone, waiting []func()
	for _, s := range scenarios {
		for _, c := range contenders {
			rows = append(rows, report.Row{Scenario: s.Name, What: s.What(b.Settings), Contender: string(c), Flags: s.Flags(b.Settings, c)})
			row := &rows[len(rows)-1]
			run := func() { b.trial(ctx, s, c, row) }
			if s.Waits {
				waiting = append(waiting, run)
			} else {
				alone = append(alone, run)
			}
		}
	}
	for _, run := range alone {
		run()
	}
	queue := make(chan func())
	var lanes sync.WaitGroup
	for range b.SideBySide {
		lanes.Go(func() {
			for run := range queue {
				run()
			}
		})
	}
	for _, run := range waiting {
		queue <- run
	}
	close(queue)
	lanes.Wait()
	return rows
}

// trial fills the row. Where it fails, the row says why.
func (b *Bench) trial(ctx context.Context, s Scenario, c contender.Name, row *report.Row) {
	if ctx.Err() != nil {
		row.Error = context.Cause(ctx).Error()
		return
	}
	t := &trial{
		Settings: b.Settings, scenario: s, contender: c, bin: b.Bin, clock: b.Clock, row: row,
		dir:      filepath.Join(b.Dir, s.Name+"-"+string(c)),
		progress: func(format string, args ...any) { b.tell(s.Name+"/"+string(c), format, args...) },
	}
	began := b.Clock.Now()
	err := os.Mkdir(t.dir, 0o700)
	if err == nil {
		err = t.all(ctx)
	}
	if !b.Keep {
		err = errors.Join(err, os.RemoveAll(t.dir))
	}
	if err != nil {
		row.Error = err.Error()
		t.progress("FAILED: %v", err)
		return
	}
	t.progress("done after %.0f s, healthy Nodes deleted: %d", b.Clock.Since(began).Seconds(), row.HealthyNodesDeleted)
}

// all runs the scenario between up and down.
func (t *trial) all(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, t.down()) }()
	if err := t.up(ctx); err != nil {
		return err
	}
	err = t.scenario.run(ctx, t)
	if n := len(t.daemons); err != nil && n > 0 && t.daemons[n-1].Err() == nil { // The error of a daemon that has ended contains its log already.
		err = fmt.Errorf("%w\nthe end of the daemon's log:\n%s", err, t.daemons[n-1].Tail(10))
	}
	return err
}

func (b *Bench) tell(who, format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := strings.TrimRight(fmt.Sprintf(format, args...), "\n")
	b.Progress(fmt.Sprintf("%s  %-28s %s", b.Clock.Now().Format("15:04:05"), who, text))
}
