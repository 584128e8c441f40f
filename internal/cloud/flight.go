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
	// who asks.
	unclaimed = time.Minute
)

// errSlow is the cause of Slow.
var errSlow = errors.New("the cloud has not answered yet")

// flights are the questions that are under way, by key. Who asks what is under
// way already waits for the same answer. Who loses patience is let go, and the
// question still occupies its key: the next who asks gets its answer, and no
// second call is made beside one that hangs.
type flights[T any] struct {
	clock    clock.PassiveClock
	patience time.Duration

	mu     sync.Mutex
	byKey  map[string]*flight[T] // guarded by mu
	inAir  int                   // guarded by mu
	landed sync.WaitGroup
}

type flight[T any] struct {
	done chan struct{} // closed when value and err are there
	// value and err are written before done is closed.
	value T
	err   error

	waiters int       // guarded by flights.mu
	end     time.Time // zero while under way; guarded by flights.mu
}

// ask returns the answer of the question with this key, asking it if nobody
// does. The context ends the question and not only the wait, so it must be the
// one of the controller.
func (f *flights[T]) ask(ctx context.Context, call, key string, question func(context.Context) (T, error)) (T, error) {
	var none T
	current, err := f.join(ctx, key, question)
	if err != nil {
		return none, &Error{Call: call, Kind: Slow, Err: err}
	}
	defer f.leave(key, current)

	timer := time.NewTimer(f.patience)
	defer timer.Stop()
	select {
	case <-current.done:
		return current.value, current.err
	case <-ctx.Done():
		return none, &Error{Call: call, Kind: Canceled, Err: ctx.Err()}
	case <-timer.C:
		return none, &Error{Call: call, Kind: Slow, Err: fmt.Errorf("%w after %v; the call is still under way", errSlow, f.patience)}
	}
}

func (f *flights[T]) join(ctx context.Context, key string, question func(context.Context) (T, error)) (*flight[T], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dropUnclaimed()
	current, ok := f.byKey[key]
	if !ok {
		if f.inAir >= maxFlights {
			return nil, fmt.Errorf("%d calls to the provider are under way and do not return", f.inAir)
		}
		current = &flight[T]{done: make(chan struct{})}
		if f.byKey == nil {
			f.byKey = map[string]*flight[T]{}
		}
		f.byKey[key] = current
		f.inAir++
		f.landed.Go(func() { f.fly(ctx, key, current, question) })
	}
	current.waiters++
	return current, nil
}

// fly asks the question. Should the provider's code end the goroutine, the
// answer says so.
func (f *flights[T]) fly(ctx context.Context, key string, current *flight[T], question func(context.Context) (T, error)) {
	current.err = &Error{Call: key, Kind: Panicked, Err: errors.New("the provider's code ended the goroutine")}
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.inAir--
		current.end = f.clock.Now()
		close(current.done)
		// An answer that nobody waits for is kept for the next who asks.
	}()
	current.value, current.err = question(ctx)
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

// wait returns when nothing is under way or the context ends.
func (f *flights[T]) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() { // Ends with the last call; a call that never returns is what the context is for.
		f.landed.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
