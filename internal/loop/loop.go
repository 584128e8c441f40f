package loop

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Result is what a pass over a key asks for next.
type Result struct {
	// Retry asks for another pass after a growing delay. The controller has
	// said on the object why it waits, so nothing is logged here. Without it
	// the key is done until somebody adds it again.
	Retry bool
	// After asks for another pass after this time, a calm one unless Awaited. It
	// counts as no failure; 0 asks for none.
	After time.Duration
	// Awaited means that somebody waits for what that pass may bring.
	Awaited bool
}

// Reconcile brings the object of one key in line. An error asks for a retry
// and is logged.
type Reconcile func(ctx context.Context, key string) (Result, error)

// The growing delay starts soon, since most failures are over soon, and ends
// where somebody who has repaired the cloud still watches.
const (
	firstRetry   = 500 * time.Millisecond
	longestRetry = time.Minute
)

// Config has the numbers of a loop. Its zero values work.
type Config struct {
	// Workers is how many keys are worked on at once; 0 means 1.
	Workers int
	// Clock is for tests; nil means the real one.
	Clock clock.WithTicker
}

// Loop feeds keys to workers.
type Loop struct {
	name      string
	reconcile Reconcile
	workers   int
	backoff   backoff
	clock     clock.WithTicker
	queue     workqueue.TypedDelayingInterface[string]
	lanes     *lanes

	mu       sync.Mutex
	failures map[string]int       // in a row, by key; guarded by mu
	busy     map[string]time.Time // since when a worker has the key; guarded by mu
}

// New returns a loop; name is its name in the workqueue metrics.
func New(name string, reconcile Reconcile, cfg Config) *Loop {
	l := &Loop{
		name:      name,
		reconcile: reconcile,
		workers:   max(cfg.Workers, 1),
		backoff:   backoff{first: firstRetry, longest: longestRetry},
		clock:     cfg.Clock,
		failures:  map[string]int{},
		busy:      map[string]time.Time{},
	}
	if l.clock == nil {
		l.clock = clock.RealClock{}
	}
	l.lanes = newLanes(l.clock)
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: name, Clock: l.clock, Queue: l.lanes})
	l.queue = workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Name: name, Clock: l.clock, Queue: queue})
	return l
}

// Urgency says whether somebody waits for a pass.
type Urgency int

// The urgencies.
const (
	Urgent Urgency = iota
	Calm           // nobody waits: all urgent keys go first
)

// Add asks for a pass over the key now, whatever delay it waits for.
func (l *Loop) Add(key string) { l.AddWith(key, Urgent) }

// AddWith is Add with an urgency.
func (l *Loop) AddWith(key string, u Urgency) {
	l.lanes.expect(key, u)
	l.queue.Add(key)
}

// AddAfter asks for a pass over the key after some time, or sooner where one is
// due sooner: additions within that time are one pass.
func (l *Loop) AddAfter(key string, d time.Duration) {
	l.lanes.expect(key, Urgent)
	l.queue.AddAfter(key, d)
}

// Waiting are the keys that could be worked on and have waited for a worker
// longer than the limit, in the order in which they will get one.
func (l *Loop) Waiting(limit time.Duration) []string { return l.lanes.waiting(limit) }

// Busy are the keys that workers have now, in order.
func (l *Loop) Busy() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.busy))
}

// Run works until the context ends and returns when the last pass has. No key
// is taken after the end of the context.
func (l *Loop) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	for range l.workers {
		workers.Go(func() { l.work(ctx) })
	}
	<-ctx.Done()
	l.queue.ShutDown()
	workers.Wait()
	return nil
}

// Stuck returns an error that names a key whose pass has lasted longer than
// the limit, nil if there is none.
func (l *Loop) Stuck(limit time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, since := range l.busy {
		if d := l.clock.Since(since); d > limit {
			return fmt.Errorf("queue %s: the pass over %q has lasted %v", l.name, key, d.Round(time.Second))
		}
	}
	return nil
}

func (l *Loop) work(ctx context.Context) {
	for {
		key, shutdown := l.queue.Get()
		if shutdown {
			return
		}
		if ctx.Err() == nil {
			l.pass(ctx, key)
		}
		l.queue.Done(key)
	}
}

func (l *Loop) pass(ctx context.Context, key string) {
	l.started(key)
	result, err := l.reconcile(ctx, key)
	failures := l.ended(key, err != nil || result.Retry)

	if failures == 0 {
		if result.After > 0 {
			if result.Awaited {
				l.lanes.expect(key, Urgent)
			}
			l.queue.AddAfter(key, result.After)
		}
		return
	}
	delay := l.backoff.delay(failures, rand.Float64())
	if err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Pass failed", "queue", l.name, "key", key, "failures", failures, "retryAfter", delay)
	}
	l.AddAfter(key, delay)
}

func (l *Loop) started(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy[key] = l.clock.Now()
}

// ended returns how often the key has failed in a row.
func (l *Loop) ended(key string, failed bool) int { //nolint:revive // flag-parameter: the outcome of the pass is a fact, not a mode
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.busy, key)
	if !failed {
		delete(l.failures, key)
		return 0
	}
	l.failures[key]++
	return l.failures[key]
}
