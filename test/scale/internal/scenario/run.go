package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/test/scale/internal/contender"
	"github.com/fairlead-k8s/fairlead/test/scale/internal/report"
)

// Bench runs scenarios.
type Bench struct {
	Settings Settings
	// Bin is the folder with all programs, and Dir is the folder for logs and data.
	// After a trial, its logs and data are removed, unless Keep is set.
	Bin, Dir string
	Keep     bool
	Clock    clock.WithTicker
	// SideBySide is the number of trials that run side by side, because they mostly
	// wait. If it is 0, the number depends on the number of Nodes.
	SideBySide int
	// Progress is called for each event. Two calls never overlap.
	Progress func(Event)

	mu   sync.Mutex    // guards calls of Progress
	busy chan struct{} // has an element for each trial in preparation
}

// Event is something that has happened in a trial.
type Event struct {
	At time.Time
	// Trial names the scenario and the contender.
	Trial string
	Text  string
	// Done marks the last event of a trial.
	Done bool
}

// job is a trial that has to be run.
type job struct {
	settings  Settings
	scenario  Scenario
	contender contender.Name
	row       *report.Row
}

func (j job) String() string { return j.scenario.Name + "/" + string(j.contender) }

// Count returns the number of trials that Run runs.
func Count(scenarios []Scenario, contenders []contender.Name) int {
	n := 0
	for _, s := range scenarios {
		for _, c := range contenders {
			if s.of(c) {
				n++
			}
		}
	}
	return n
}

// Run runs each scenario with each contender, and returns a row for each trial. First
// come the trials that need the whole machine, one after the other. Then come the
// trials that mostly wait, side by side. Last come the trials that need a quiet
// machine, one after the other. The longest of the trials that mostly wait may take
// more time than all others together. So the last trials do not wait for it.
func (b *Bench) Run(ctx context.Context, scenarios []Scenario, contenders []contender.Name) []report.Row {
	todo, rows := b.plan(scenarios, contenders)
	lanes := b.lanes()
	b.busy = make(chan struct{}, preparedAtOnce)
	for _, j := range todo.alone {
		b.trial(ctx, j)
	}
	var longest sync.WaitGroup
	if lanes > 1 && len(todo.waiting) > 1 {
		first := todo.waiting[0]
		todo.waiting = todo.waiting[1:]
		longest.Go(func() { b.trial(ctx, first) })
	}
	b.sideBySide(ctx, lanes, todo.waiting)
	for _, j := range todo.quiet {
		b.trial(ctx, j)
	}
	longest.Wait()
	return rows
}

// preparedAtOnce is the number of control planes that get their Nodes at the same time.
// Even a single one needs the whole machine for that.
const preparedAtOnce = 1

// lanes returns the number of trials that run side by side.
func (b *Bench) lanes() int {
	if b.SideBySide > 0 {
		return b.SideBySide
	}
	const most, nodesInAll = 10, 20_000
	return max(1, min(most, nodesInAll/b.Settings.Nodes))
}

// sideBySide runs the trials that mostly wait. The argument lanes is the number of
// trials that run at the same time.
func (b *Bench) sideBySide(ctx context.Context, lanes int, waiting []job) {
	queue := make(chan job)
	var running sync.WaitGroup
	for range lanes {
		running.Go(func() {
			for j := range queue {
				b.trial(ctx, j)
			}
		})
	}
	for _, j := range waiting {
		queue <- j
	}
	close(queue)
	running.Wait()
}

// jobs has all trials in three groups: those that need the whole machine, those
// that need a quiet machine, and those that mostly wait. The longest of the trials
// that mostly wait is the first element of the field waiting.
type jobs struct{ alone, quiet, waiting []job }

// plan returns all trials, and the rows for their results.
func (b *Bench) plan(scenarios []Scenario, contenders []contender.Name) (todo jobs, rows []report.Row) {
	rows = make([]report.Row, 0, len(scenarios)*len(contenders))
	for _, s := range scenarios {
		for _, c := range contenders {
			if !s.of(c) {
				continue
			}
			settings := s.sized(b.Settings)
			rows = append(rows, report.Row{
				Scenario: s.Name, What: s.What(settings), Contender: string(c), Nodes: settings.Nodes, Services: settings.Services,
				FastPaths: string(s.FastPaths), Flags: s.Flags(settings, c),
			})
			j := job{settings, s, c, &rows[len(rows)-1]}
			switch {
			case slices.Contains(s.Alone, c):
				todo.alone = append(todo.alone, j)
			case slices.Contains(s.Quiet, c):
				todo.quiet = append(todo.quiet, j)
			default:
				todo.waiting = append(todo.waiting, j)
			}
		}
	}
	slices.SortStableFunc(todo.waiting, func(x, y job) int {
		return cmp.Or(-cmp.Compare(x.settings.Nodes, y.settings.Nodes), -cmp.Compare(x.contender, y.contender))
	})
	return todo, rows
}

// trial runs a trial and fills its row. If the trial fails, the row says why.
func (b *Bench) trial(ctx context.Context, j job) {
	if ctx.Err() != nil {
		j.row.Error = context.Cause(ctx).Error()
		return
	}
	t := &trial{
		Settings: j.settings, scenario: j.scenario, contender: j.contender, bin: b.Bin, clock: b.Clock, row: j.row,
		dir:      filepath.Join(b.Dir, j.scenario.Name+"-"+string(j.contender)),
		progress: func(format string, args ...any) { b.tell(Event{Trial: j.String(), Text: fmt.Sprintf(format, args...)}) },
	}
	b.busy <- struct{}{}
	began := b.Clock.Now()
	t.prepared = sync.OnceFunc(func() { <-b.busy })
	b.tell(Event{Trial: j.String(), Text: "begins"})
	err := os.Mkdir(t.dir, 0o700)
	if err == nil {
		err = t.all(ctx)
	}
	t.prepared()
	if !b.Keep {
		err = errors.Join(err, os.RemoveAll(t.dir))
	}
	j.row.TookSeconds = b.Clock.Since(began).Seconds()
	text := fmt.Sprintf("done after %.0f s, healthy Nodes deleted: %d", j.row.TookSeconds, j.row.HealthyNodesDeleted)
	if err != nil {
		j.row.Error = err.Error()
		text = "FAILED: " + j.row.Error
	}
	b.tell(Event{Trial: j.String(), Text: text, Done: true})
}

// all starts what the trial needs, runs the scenario, and ends all processes.
func (t *trial) all(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, t.down()) }()
	if err := t.up(ctx); err != nil {
		return err
	}
	err = t.scenario.run(ctx, t)
	if n := len(t.daemons); err != nil && n > 0 && t.daemons[n-1].Err() == nil { // If the daemon has ended, the error already contains the log.
		err = fmt.Errorf("%w\nthe end of the daemon's log:\n%s", err, t.daemons[n-1].Tail(10))
	}
	return err
}

func (b *Bench) tell(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.At = b.Clock.Now()
	b.Progress(e)
}
