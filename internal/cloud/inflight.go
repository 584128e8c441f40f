package cloud

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// maxInflight is the maximum number of questions without an answer in a value
	// of type inflight. Questions for which no caller waits any more count, too.
	maxInflight = 256
	// keepLateAnswer is the time during which a late answer is kept for the next
	// caller. It is longer than the pause of a loop after a failed pass.
	keepLateAnswer = 2 * time.Minute
)

// The causes of Slow.
var (
	errSlow  = errors.New("the cloud has not answered yet")
	errAsked = errors.New("the same question is under way and its answer is not shared")
)

// inflight coalesces questions. A caller that asks a question that is already under way
// waits for the same answer. If the answer takes longer than callerTimeout, the callers
// get an error of kind Slow, but the question keeps its key. So no second call is made
// while the first one hangs, and the next caller gets the late answer.
type inflight[T any] struct {
	callerTimeout time.Duration
	// exclusive means that each answer goes to only one caller: the one that asked the
	// question or, if that caller has given up, the next one.
	exclusive bool
	// The function subject, if not nil, returns the subject of a key. Two questions
	// with the same subject are never under way at the same time: the second one
	// waits.
	subject func(key string) string

	mu        sync.Mutex
	byKey     map[string]*question[T] // guarded by mu
	bySubject map[string]*question[T] // questions without an answer; guarded by mu
	running   int                     // questions without an answer; guarded by mu
}

type question[T any] struct {
	subject  string // empty if there is none
	started  time.Time
	progress progress
	done     chan struct{} // closed when value and err are set
	// value and err are written before done is closed.
	value T
	err   error

	waiters int       // guarded by inflight.mu
	end     time.Time // zero while under way; guarded by inflight.mu
}

// asker makes the calls that lead to the answer.
type asker[T any] func(context.Context, call) (T, error)

// ask returns the answer to the question with this key. It asks the question unless
// another caller has asked it already. The end of ctx ends the question itself, not
// only this caller's wait. So ctx must be the context of the controller.
func (i *inflight[T]) ask(ctx context.Context, c call, key string, asks asker[T]) (T, error) {
	var none T
	began, timer := time.Now(), time.NewTimer(i.callerTimeout)
	defer timer.Stop()
	current, other, err := i.join(ctx, c, key, asks)
	for other != nil {
		select {
		case <-other.done:
			current, other, err = i.join(ctx, c, key, asks)
		case <-ctx.Done():
			return none, c.failed(Canceled, ctx.Err())
		case <-timer.C:
			return none, other.late(c)
		}
	}
	if err != nil {
		return none, c.failed(Slow, err)
	}
	defer i.leave(key, current)

	if before := began.Sub(current.started); before > 0 {
		timer.Reset(i.callerTimeout - before)
	}
	select {
	case <-current.done:
		return current.value, current.err
	default:
	}
	select {
	case <-current.done:
		return current.value, current.err
	case <-ctx.Done():
		return none, c.failed(Canceled, ctx.Err())
	case <-timer.C:
		return none, current.late(c)
	}
}

// join returns the question with this key as its first result, and begins the question
// if it is not under way. If another question about the same subject has to end first,
// join returns that question as its second result, and no first result.
func (i *inflight[T]) join(ctx context.Context, c call, key string, asks asker[T]) (current, other *question[T], err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.dropExpired()
	current, ok := i.byKey[key]
	if ok && i.exclusive && current.waiters > 0 {
		return nil, nil, errAsked
	}
	if !ok {
		current = &question[T]{started: time.Now(), done: make(chan struct{})}
		if i.subject != nil {
			current.subject = i.subject(key)
		}
		if other := i.bySubject[current.subject]; other != nil {
			return nil, other, nil
		}
		if i.running >= maxInflight {
			return nil, nil, fmt.Errorf("%d other questions to the cloud are under way", i.running)
		}
		i.begin(key, current)
		// The goroutine ends when the provider's call returns. maxInflight bounds the
		// goroutines whose call never returns.
		go i.run(ctx, c, current, asks)
	}
	current.waiters++
	return current, nil, nil
}

// begin adds a question that is now under way. The caller holds mu.
func (i *inflight[T]) begin(key string, current *question[T]) {
	if i.byKey == nil {
		i.byKey, i.bySubject = map[string]*question[T]{}, map[string]*question[T]{}
	}
	i.byKey[key] = current
	if current.subject != "" {
		i.bySubject[current.subject] = current
	}
	i.running++
}

// run asks the question. If the provider's code ends the goroutine, the answer is
// an error. An answer for which no caller waits is kept for the next caller.
func (i *inflight[T]) run(ctx context.Context, c call, current *question[T], asks asker[T]) {
	current.err = c.failed(Panicked, errEnded)
	defer func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.running--
		delete(i.bySubject, current.subject)
		current.end = time.Now()
		close(current.done)
	}()
	c.progress = &current.progress
	current.value, current.err = asks(ctx, c)
}

// late returns the reason why there is no answer yet. Either the cloud is slow, or
// the question waits for the cloud's quota or for the end of an outage.
func (q *question[T]) late(c call) error {
	quota := q.progress.get()
	e := c.failed(Slow, fmt.Errorf("%w after %v; the call is still under way", errSlow, time.Since(q.started).Round(time.Second)))
	if held, _ := errors.AsType[*Error](quota); HeldFor(quota) > 0 {
		e = new(*held)
	} else if quota != nil {
		e = &Error{Call: c.method, Kind: Throttled, RetryAfter: RetryAfter(quota), Err: quota}
	}
	e.UnderWay = true
	return e
}

func (i *inflight[T]) leave(key string, current *question[T]) {
	i.mu.Lock()
	defer i.mu.Unlock()
	current.waiters--
	if current.waiters == 0 && !current.end.IsZero() && i.byKey[key] == current {
		delete(i.byKey, key)
	}
}

// dropExpired drops late answers for which no caller has come within keepLateAnswer.
// The caller holds mu.
func (i *inflight[T]) dropExpired() {
	now := time.Now()
	for key, q := range i.byKey {
		if q.waiters == 0 && !q.end.IsZero() && now.Sub(q.end) > keepLateAnswer {
			delete(i.byKey, key)
		}
	}
}
