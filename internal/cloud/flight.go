package cloud

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// maxFlights bounds the questions that are under way, those included that
	// nobody waits for any more.
	maxFlights = 256
	// unclaimed is how long an answer that came too late is kept for the next
	// who asks. It is longer than a key of a loop waits for its next pass.
	unclaimed = 2 * time.Minute
)

// errSlow and errAsked are causes of Slow.
var (
	errSlow  = errors.New("the cloud has not answered yet")
	errAsked = errors.New("the same question is under way and its answer is not shared")
)

// flights are the questions that are under way, by key. Who asks what is under
// way already waits for the same answer. Once a question has lasted longer than
// the patience, who asks it is let go at once, and the question still occupies
// its key: no second call is made beside one that hangs, and the next who asks
// gets its answer.
type flights[T any] struct {
	clock    clock.PassiveClock
	patience time.Duration
	// unshared lets nobody wait for the answer of somebody else's question.
	unshared bool

	mu    sync.Mutex
	byKey map[string]*flight[T] // guarded by mu
	inAir int                   // guarded by mu
}

type flight[T any] struct {
	started  time.Time
	progress progress
	done     chan struct{} // closed when value and err are there
	// value and err are written before done is closed.
	value T
	err   error

	waiters int       // guarded by flights.mu
	end     time.Time // zero while under way; guarded by flights.mu
}

// progress is why a question has no answer yet, where somebody can tell.
type progress struct {
	mu  sync.Mutex
	err error // guarded by mu
}

func (p *progress) set(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
}

func (p *progress) get() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// ask returns the answer of the question with this key, asking it if nobody
// does. The context ends the question and not only the wait, so it must be the
// one of the controller.
func (f *flights[T]) ask(ctx context.Context, call, key string, question func(context.Context) (T, error)) (T, error) {
	var none T
	current, err := f.join(ctx, call, key, question)
	if err != nil {
		return none, &Error{Call: call, Kind: Slow, Err: err}
	}
	defer f.leave(key, current)

	timer := time.NewTimer(f.patience - f.clock.Since(current.started))
	defer timer.Stop()
	select {
	case <-current.done:
		return current.value, current.err
	default:
	}
	select {
	case <-current.done:
		return current.value, current.err
	case <-ctx.Done():
		return none, &Error{Call: call, Kind: Canceled, Err: ctx.Err()}
	case <-timer.C:
		return none, current.late(call, f.clock.Since(current.started))
	}
}

func (f *flights[T]) join(ctx context.Context, call, key string, question func(context.Context) (T, error)) (*flight[T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropUnclaimed()
	current, ok := f.byKey[key]
	if ok && f.unshared && current.waiters > 0 {
		return nil, errAsked
	}
	if !ok {
		if f.inAir >= maxFlights {
			return nil, fmt.Errorf("%d other questions to the cloud are under way", f.inAir)
		}
		current = &flight[T]{started: f.clock.Now(), done: make(chan struct{})}
		if f.byKey == nil {
			f.byKey = map[string]*flight[T]{}
		}
		f.byKey[key] = current
		f.inAir++
		// It ends with the provider's call; one that never returns is what maxFlights bounds.
		go f.fly(ctx, call, current, question)
	}
	current.waiters++
	return current, nil
}

// fly asks the question. Should the provider's code end the goroutine, the
// answer says so. An answer that nobody waits for is kept for the next who
// asks.
func (f *flights[T]) fly(ctx context.Context, call string, current *flight[T], question func(context.Context) (T, error)) {
	current.err = &Error{Call: call, Kind: Panicked, Err: errEnded}
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.inAir--
		current.end = f.clock.Now()
		close(current.done)
	}()
	current.value, current.err = question(context.WithValue(ctx, progressKey{}, &current.progress))
}

// late is why there is no answer yet: the cloud is slow, or the question waits
// for the cloud's quota.
func (f *flight[T]) late(call string, after time.Duration) error {
	if quota := f.progress.get(); quota != nil {
		return &Error{Call: call, Kind: Throttled, RetryAfter: RetryAfter(quota), Err: quota}
	}
	return &Error{Call: call, Kind: Slow, Err: fmt.Errorf("%w after %v; the call is still under way", errSlow, after.Round(time.Second))}
}

func (f *flights[T]) leave(key string, current *flight[T]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	current.waiters--
	if current.waiters == 0 && !current.end.IsZero() && f.byKey[key] == current {
		delete(f.byKey, key)
	}
}

// dropUnclaimed forgets answers that came too late and that nobody came for.
// It needs mu.
func (f *flights[T]) dropUnclaimed() {
	now := f.clock.Now()
	for key, flight := range f.byKey {
		if flight.waiters == 0 && !flight.end.IsZero() && now.Sub(flight.end) > unclaimed {
			delete(f.byKey, key)
		}
	}
}

type progressKey struct{}

// progressOf is where a call says why it takes long. A call that belongs to no
// flight says it to nobody.
func progressOf(ctx context.Context) *progress {
	if p, ok := ctx.Value(progressKey{}).(*progress); ok {
		return p
	}
	return &progress{}
}
