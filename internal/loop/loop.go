package loop

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Result says when a key needs its next pass. The zero value means that the key
// needs no pass until it is added again.
type Result struct {
	// Retry requests another pass after a growing delay, with high priority. The
	// loop logs nothing, because the controller shows the reason on the object.
	Retry bool
	// After, if not 0, requests another pass after this time. That does not count
	// as a failure.
	After time.Duration
	// HighPriority means that After requests a pass with high priority, instead of low
	// priority.
	HighPriority bool
	// Unfinished means that this pass has not done all its work, and that After
	// requests a pass to continue it. So this pass does not reset the number of
	// failures.
	Unfinished bool
	// Rest, if not nil, does the remaining work of the pass. The other fields are then
	// ignored. Rest runs in a goroutine of its own, so that the worker can take the
	// next key. If there are already as many such goroutines as workers, the worker
	// itself runs Rest. The Result that Rest returns must have no Rest.
	Rest func(context.Context) (Result, error)
}

// Reconcile makes one pass over a key. If it returns an error, the loop logs the error
// and requests another pass, as for Result.Retry.
type Reconcile func(ctx context.Context, key string) (Result, error)

// The first and the longest delay after failures. The first one is short, because most
// failures end soon. Even the longest one is so short that an operator soon sees the
// effect of a repair.
const (
	minRetryDelay = 500 * time.Millisecond
	maxRetryDelay = time.Minute
)

// Config configures a loop. The zero value is valid.
type Config struct {
	// Workers is the number of passes that can run at the same time; 0 means 1. A pass
	// whose Result.Rest runs in a goroutine of its own is not counted.
	Workers int
	// Clock is the clock for times and timers; nil means the real one.
	Clock clock.WithTicker
}

// Loop feeds keys to workers.
type Loop struct {
	name      string
	reconcile Reconcile
	workers   int
	backoff   backoff
	clock     clock.WithTicker
	queue     workqueue.TypedDelayingInterface[string] // its delays are those after failures, because its metrics count them as retries
	planned   workqueue.TypedDelayingInterface[string] // has all other delays, and hands its keys to queue
	waiting   *priorityQueue
	rests     chan struct{} // has an element for each Result.Rest that runs in its own goroutine

	mu       sync.Mutex
	failures map[string]int       // the number of failures in a row, by key; guarded by mu
	busy     map[string]time.Time // the time at which a worker took the key; guarded by mu
	resting  map[string]bool      // keys whose Result.Rest runs in its own goroutine; guarded by mu
}

// New returns a loop; name is its name in the workqueue metrics.
func New(name string, reconcile Reconcile, cfg Config) *Loop {
	l := &Loop{
		name:      name,
		reconcile: reconcile,
		workers:   max(cfg.Workers, 1),
		backoff:   backoff{min: minRetryDelay, max: maxRetryDelay},
		clock:     cfg.Clock,
		failures:  map[string]int{},
		busy:      map[string]time.Time{},
		resting:   map[string]bool{},
	}
	if l.clock == nil {
		l.clock = clock.RealClock{}
	}
	l.rests = make(chan struct{}, l.workers)
	l.waiting = newPriorityQueue(l.clock)
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: name, Clock: l.clock, Queue: l.waiting})
	l.queue = workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Name: name, Clock: l.clock, Queue: queue})
	l.planned = workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[string]{Clock: l.clock, Queue: queue})
	return l
}

// Priority is the priority of a key that waits for a worker.
type Priority int

// The priorities.
const (
	High Priority = iota
	Low           // a key gets a worker if no key with high priority waits, or when low priority gets its share
)

// Add requests a pass over the key now, with high priority. If the key also waits
// for the end of a delay, there is another pass after that delay.
func (l *Loop) Add(key string) { l.AddWithPriority(key, High) }

// AddWithPriority does the same as Add, with the given priority.
func (l *Loop) AddWithPriority(key string, p Priority) {
	l.waiting.request(key, p)
	l.queue.Add(key)
}

// AddAfter requests a pass over the key after some time, with high priority. If
// several delayed passes over a key are requested, only the earliest one is made. The
// delay after a failure does not count.
func (l *Loop) AddAfter(key string, d time.Duration) {
	l.waiting.request(key, High)
	l.planned.AddAfter(key, d)
}

// AddLowAfter does the same as AddAfter, with low priority.
func (l *Loop) AddLowAfter(key string, d time.Duration) { l.planned.AddAfter(key, d) }

// Waiting is a key that waits for a worker.
type Waiting struct {
	Key   string
	Since time.Time
}

// Waiting returns the keys that have waited for a worker longer than the limit.
// The key that has waited longest comes first. Keys that wait for the end of a
// delay are not included.
func (l *Loop) Waiting(limit time.Duration) []Waiting { return l.waiting.waiting(limit) }

// Busy returns the keys that a worker processes now, sorted.
func (l *Loop) Busy() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []string
	for key := range l.busy {
		if !l.resting[key] {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Run runs the workers until the context ends. It returns when the last pass has
// ended. No pass begins after the end of the context.
func (l *Loop) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	for range l.workers {
		workers.Go(func() { l.work(ctx, &workers) })
	}
	<-ctx.Done()
	l.planned.ShutDown()
	l.queue.ShutDown()
	workers.Wait()
	return nil
}

// RunAs is like Run, but makes the passes with the given function, instead of the one
// that New got. For example, the function may change nothing. Call either Run or RunAs.
func (l *Loop) RunAs(ctx context.Context, pass Reconcile) error {
	l.reconcile = pass
	return l.Run(ctx)
}

// Stuck returns an error that names a key whose pass has lasted longer than the
// limit. It returns nil if there is none.
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

func (l *Loop) work(ctx context.Context, running *sync.WaitGroup) {
	for {
		key, shutdown := l.queue.Get()
		if shutdown {
			return
		}
		if ctx.Err() != nil {
			l.queue.Done(key)
			continue
		}
		l.started(key)
		result, err := l.reconcile(ctx, key)
		if result.Rest == nil {
			l.finish(ctx, key, result, err)
			continue
		}
		select {
		case l.rests <- struct{}{}:
			l.leaves(key)
			running.Go(func() {
				defer func() { <-l.rests }()
				l.rest(ctx, key, result)
			})
		default:
			l.rest(ctx, key, result)
		}
	}
}

// leaves records that the pass over the key no longer needs a worker.
func (l *Loop) leaves(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resting[key] = true
}

// rest calls result.Rest, and then ends the pass.
func (l *Loop) rest(ctx context.Context, key string, result Result) {
	last, err := result.Rest(ctx)
	l.finish(ctx, key, last, err)
}

// finish ends a pass, and requests the next one if the result asks for it.
func (l *Loop) finish(ctx context.Context, key string, result Result, err error) {
	defer l.queue.Done(key)
	failed := err != nil || result.Retry
	failures := l.ended(key, failed, result.Unfinished)

	if !failed {
		if result.After > 0 {
			if result.HighPriority {
				l.waiting.request(key, High)
			}
			l.planned.AddAfter(key, result.After)
		}
		return
	}
	delay := l.backoff.delay(failures, rand.Float64()) //nolint:gosec // no secret
	if err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Pass failed", "queue", l.name, "key", key, "failures", failures, "retryAfter", delay)
	}
	l.waiting.request(key, High)
	l.queue.AddAfter(key, delay)
}

func (l *Loop) started(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy[key] = l.clock.Now()
}

// ended records the end of a pass. It returns the number of failures of the key
// in a row.
func (l *Loop) ended(key string, failed, unfinished bool) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.busy, key)
	delete(l.resting, key)
	switch {
	case failed:
		l.failures[key]++
	case !unfinished:
		delete(l.failures, key)
	}
	return l.failures[key]
}
