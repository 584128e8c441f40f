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

// Result says when a key needs its next pass. The zero value means that it needs
// none until the key is added again.
type Result struct {
	// Retry requests another pass after a growing delay, with high priority. The
	// loop logs nothing, because the controller shows on the object why it waits.
	Retry bool
	// After requests another pass after this time. It does not count as a
	// failure. 0 requests none.
	After time.Duration
	// HighPriority is the priority of the pass that After requests: high if
	// true, otherwise low.
	HighPriority bool
	// Unfinished says that the pass that After requests continues this one. So the
	// failures before this pass still count.
	Unfinished bool
	// Rest, if not nil, is the rest of the pass, and the other fields are ignored. It
	// runs beside the workers, so that the worker of the pass can take the next key. If
	// as many rests run already as there are workers, that worker runs it. Rest returns
	// a Result without a Rest.
	Rest func(context.Context) (Result, error)
}

// Reconcile makes one pass over a key. An error is logged, and requests a retry
// like Result.Retry.
type Reconcile func(ctx context.Context, key string) (Result, error)

// The growing delay begins small, because most failures are over soon. It stays
// short enough for an operator to see the effect of a repair.
const (
	minRetryDelay = 500 * time.Millisecond
	maxRetryDelay = time.Minute
)

// Config configures a loop. The zero value is valid.
type Config struct {
	// Workers is how many passes run at the same time; 0 means 1. A pass whose
	// Result.Rest runs beside the workers is not counted.
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
	queue     workqueue.TypedDelayingInterface[string]
	waiting   *priorityQueue
	rests     chan struct{} // has an element for each rest that runs beside the workers

	mu       sync.Mutex
	failures map[string]int       // in a row, by key; guarded by mu
	busy     map[string]time.Time // when a worker took the key; guarded by mu
	resting  map[string]bool      // keys with a rest that runs beside the workers; guarded by mu
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
	return l
}

// Priority is the order in which keys get a worker.
type Priority int

// The priorities.
const (
	High Priority = iota
	Low           // a worker takes the key if no key with high priority waits, or when low priority gets its share
)

// Add requests a pass over the key now, with high priority. If the key waits for
// a delay, the delay ends.
func (l *Loop) Add(key string) { l.AddWithPriority(key, High) }

// AddWithPriority does the same as Add, with the given priority.
func (l *Loop) AddWithPriority(key string, p Priority) {
	l.waiting.request(key, p)
	l.queue.Add(key)
}

// AddAfter requests a pass over the key after some time, with high priority. If
// another pass over the key is due earlier, only that pass is made. Several calls
// within that time cause one pass.
func (l *Loop) AddAfter(key string, d time.Duration) {
	l.waiting.request(key, High)
	l.queue.AddAfter(key, d)
}

// Waiting is a key that waits for a worker.
type Waiting struct {
	Key   string
	Since time.Time
}

// Waiting returns the keys that have waited for a worker longer than the limit,
// the oldest first. Keys that wait for the end of a delay are not included.
func (l *Loop) Waiting(limit time.Duration) []Waiting { return l.waiting.waiting(limit) }

// Next returns the key that the next free worker would take now. waits is false if no key
// waits, or if the last finished pass over this key has failed.
func (l *Loop) Next() (key string, waits bool) {
	key, waits = l.waiting.next()
	l.mu.Lock()
	defer l.mu.Unlock()
	return key, waits && l.failures[key] == 0
}

// Busy returns the keys that keep a worker now, in order.
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

// Run runs the workers until the context ends, and returns when the last pass has
// ended. No pass begins after the end of the context.
func (l *Loop) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	for range l.workers {
		workers.Go(func() { l.work(ctx, &workers) })
	}
	<-ctx.Done()
	l.queue.ShutDown()
	workers.Wait()
	return nil
}

// RunAs is Run with another pass, such as a pass that changes nothing. It is called
// instead of Run.
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

// leaves records that the pass over the key keeps no worker any more.
func (l *Loop) leaves(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resting[key] = true
}

// rest makes the rest of a pass.
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
			l.queue.AddAfter(key, result.After)
		}
		return
	}
	delay := l.backoff.delay(failures, rand.Float64()) //nolint:gosec // no secret
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

// ended records the end of a pass and returns how often the key has failed in a
// row.
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
