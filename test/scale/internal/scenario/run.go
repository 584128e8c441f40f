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
	// Bin is the folder with all programs, Dir the one for logs and data, which
	// go with each trial unless Keep is set.
	Bin, Dir string
	Keep     bool
	Clock    clock.WithTicker
	// SideBySide is how many trials that mostly wait run at the same time.
	SideBySide int
	// Progress is told what happens. It is called from one goroutine at a time.
	Progress func(Event)

	mu   sync.Mutex    // guards calls of Progress
	busy chan struct{} // holds one for each trial that is being prepared
}

// Event is something that has happened in a trial.
type Event struct {
	At time.Time
	// Trial is its scenario and contender.
	Trial string
	Text  string
	// Began and Done mark the first and the last event of a trial.
	Began, Done bool
}

// job is a trial that is to be made.
type job struct {
	settings  Settings
	scenario  Scenario
	contender contender.Name
	row       *report.Row
}

func (j job) String() string { return j.scenario.Name + "/" + string(j.contender) }

// Count returns how many trials Run makes.
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

// Run runs each scenario with each contender, and returns a row for each. What
// needs the machine for itself comes first.
func (b *Bench) Run(ctx context.Context, scenarios []Scenario, contenders []contender.Name) []report.Row {
	alone, waiting, rows := b.jobs(scenarios, contenders)
	const prepared = 2 // at the same time: more would only slow each other down
	b.busy = make(chan struct{}, prepared)
	for _, j := range alone {
		b.trial(ctx, j)
	}
	queue := make(chan job)
	var lanes sync.WaitGroup
	for range b.SideBySide {
		lanes.Go(func() {
			for j := range queue {
				b.trial(ctx, j)
			}
		})
	}
	for _, j := range waiting {
		queue <- j
	}
	close(queue)
	lanes.Wait()
	return rows
}

// jobs are the trials that need the machine for themselves, those that mostly
// wait, which begin with the longest, and the rows of all.
func (b *Bench) jobs(scenarios []Scenario, contenders []contender.Name) (alone, waiting []job, rows []report.Row) {
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
			if slices.Contains(s.Alone, c) {
				alone = append(alone, j)
			} else {
				waiting = append(waiting, j)
			}
		}
	}
	slices.SortStableFunc(waiting, func(x, y job) int {
		return cmp.Or(-cmp.Compare(x.settings.Nodes, y.settings.Nodes), -cmp.Compare(x.contender, y.contender))
	})
	return alone, waiting, rows
}

// trial fills the row. Where it fails, the row says why.
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
	b.tell(Event{Trial: j.String(), Began: true})
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

func (b *Bench) tell(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e.At = b.Clock.Now()
	b.Progress(e)
}
