package cloud

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// maxStuck bounds the changes that have outlived their deadline.
	maxStuck = 16
	// longestTurn is how long a change waits for the cloud's quota before whoever
	// asked is let go to say so. With a change's deadline it is what a worker may
	// be busy with before it counts as stuck.
	longestTurn = 2 * time.Minute
)

// changes are calls that change the cloud, by key. One that outlives its
// deadline keeps its key occupied until it really returns (S3).
type changes struct {
	gateway *Gateway
	timeout time.Duration
	// tries is how often a change is made while the cloud answers that its quota
	// is used up; 0 means once.
	tries  int
	ledger ledger
}

// change makes a change and returns when it has returned, or some time after its
// deadline. It does not begin once the context has ended, and is not cut short by
// its end: what is given up here may still be under way in the cloud while
// another replica changes the same object (S7).
func (c *changes) change(ctx context.Context, call, key string, f func(context.Context) error) error {
	if err := c.ledger.enter(key, call, c.gateway.clock.Now()); err != nil {
		return &Error{Call: call, Kind: Slow, Err: err}
	}
	waiting, cancel := context.WithTimeout(ctx, longestTurn) // with all tries
	defer cancel()
	for try := 1; ; try++ {
		if err := c.awaitTurn(ctx, waiting, call); err != nil {
			c.ledger.leave(key)
			return err
		}
		done := c.begin(ctx, call, f)
		overdue := time.NewTimer(c.timeout + grace)
		select {
		case err := <-done:
			overdue.Stop()
			if KindOf(err) == Throttled && try < c.tries {
				continue // It has not happened.
			}
			c.ledger.leave(key)
			return err
		case <-overdue.C:
			c.ledger.strand(key)
			go func() { // It ends with the provider's call; maxStuck bounds those that never return.
				<-done //nolint:errcheck // whoever asked was told already
				c.ledger.leave(key)
			}()
			return &Error{Call: call, Kind: TimedOut, Err: fmt.Errorf("the call has not returned %v after its deadline of %v", grace, c.timeout)}
		}
	}
}

// awaitTurn returns nil when the call may begin. The waiting ends with a context
// of its own.
func (c *changes) awaitTurn(ctx, waiting context.Context, call string) error {
	err := c.gateway.pace.wait(waiting, urgencyOf(ctx))
	switch {
	case err == nil:
		return nil
	case ctx.Err() == nil:
		return &Error{Call: call, Kind: Throttled, RetryAfter: c.gateway.pace.pause(), Err: errQuota}
	default:
		return &Error{Call: call, Kind: Canceled, Err: err}
	}
}

// begin starts the call and delivers what became of it.
func (c *changes) begin(ctx context.Context, call string, f func(context.Context) error) <-chan error {
	done := make(chan error, 1)
	lasting := context.WithoutCancel(ctx)
	c.gateway.underWay.add(1)
	go func() {
		err := error(&Error{Call: call, Kind: Panicked, Err: errEnded})
		defer func() {
			c.gateway.underWay.add(-1)
			done <- err
		}()
		_, err = once(lasting, c.gateway, call, c.timeout, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	}()
	return done
}

// tally counts what is under way. Its zero value counts nothing.
type tally struct {
	mu   sync.Mutex
	n    int             // guarded by mu
	idle []chan struct{} // closed when n is 0; guarded by mu
}

func (t *tally) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n += n
	if t.n == 0 {
		for _, idle := range t.idle {
			close(idle)
		}
		t.idle = nil
	}
}

// await returns when nothing is under way.
func (t *tally) await() {
	t.mu.Lock()
	idle := make(chan struct{})
	if t.n == 0 {
		close(idle)
	} else {
		t.idle = append(t.idle, idle)
	}
	t.mu.Unlock()
	<-idle
}
