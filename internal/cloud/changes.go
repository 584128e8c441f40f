package cloud

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/lease"
)

// maxQuotaWait is the time that a change waits for the cloud's quota before its
// caller gets an error. A worker counts as stuck only after maxQuotaWait plus the
// deadline of the change.
const maxQuotaWait = 2 * time.Minute

// changes makes the calls that change the cloud, one at a time for each key. A call
// that outlives its deadline keeps its key until it returns (promise S3).
type changes struct {
	gateway *Gateway
	timeout time.Duration
	// again means that a change that has failed is made again if a used-up quota might
	// be the cause. It must be set only if making a change twice does no harm.
	again bool
	keys  keyLock
}

// change makes a change. It returns when the provider has returned, or some time
// after the deadline. A change does not begin after the context has ended, or
// while another replica might lead. The end of the context does not interrupt a
// change that has begun. Otherwise the cloud could still carry out the
// interrupted change while another replica changes the same object (promise S7).
func (s *changes) change(ctx context.Context, c call, key string, f func(context.Context) error) error {
	if err := s.keys.acquire(key, c.method); err != nil {
		return c.failed(Slow, err)
	}
	return s.carryOut(ctx, c, []string{key}, f)
}

// carryOut makes a change. The change holds these keys, and carryOut frees them
// afterwards. All changes go through carryOut, because it is the place where a read-only
// gateway refuses them.
func (s *changes) carryOut(ctx context.Context, c call, keys []string, f func(context.Context) error) error {
	if s.gateway.refuse != nil {
		s.keys.release(keys...)
		s.gateway.refuse(c.method, c.object())
		return c.failed(Denied, ErrReadOnly)
	}
	c.change = true
	waiting, cancel := context.WithTimeout(ctx, maxQuotaWait) // bounds all tries together
	defer cancel()
	for try := 1; ; try++ {
		c.again = try > 1
		of, err := s.awaitTurn(ctx, waiting, c)
		if err != nil {
			s.keys.release(keys...)
			return err
		}
		c.class = of
		began := time.Now()
		done := s.begin(ctx, c, f)
		overdue := time.NewTimer(s.timeout + grace)
		select {
		case err := <-done:
			overdue.Stop()
			if s.again && s.gateway.retries(waiting, tried{c, try, time.Since(began), err}) {
				continue
			}
			s.keys.release(keys...)
			return err
		case <-overdue.C:
			s.abandon(keys, done)
			return c.failed(TimedOut, fmt.Errorf("the call has not returned %v after its deadline of %v", grace, s.timeout))
		}
	}
}

// abandon stops waiting for a call that has outlived its deadline. The keys
// become free when the call returns.
func (s *changes) abandon(keys []string, done <-chan error) {
	if s.keys.abandon(keys[0]) {
		s.gateway.health.exhausted(maxAbandoned, "changes")
	}
	go func() { // The goroutine ends when the provider's call returns. maxAbandoned bounds the goroutines whose call never returns.
		<-done //nolint:errcheck // the caller has its error already
		s.keys.release(keys...)
	}()
}

// awaitTurn returns the limiter's class of the call when the call may begin. The second
// context bounds the wait for the quota.
func (s *changes) awaitTurn(ctx, waiting context.Context, c call) (*class, error) {
	c.progress = &progress{err: errQuota}
	of, err := s.gateway.limiter.wait(waiting, c)
	switch {
	case err == nil:
		if err = lease.Await(ctx); err != nil {
			s.gateway.limiter.ended(of)
			return nil, c.failed(Canceled, err)
		}
		return of, nil
	case ctx.Err() != nil || waiting.Err() == nil:
		return nil, c.unmade(err)
	}
	if held, ok := errors.AsType[*Error](c.progress.get()); ok {
		return nil, held
	}
	return nil, &Error{Call: c.method, Kind: Throttled, RetryAfter: s.gateway.limiter.pauseOf(c), Err: errQuota}
}

// begin starts the call and returns a channel that gets its error.
func (s *changes) begin(ctx context.Context, c call, f func(context.Context) error) <-chan error {
	done := make(chan error, 1)
	lasting := context.WithoutCancel(ctx)
	s.gateway.changing.add(1)
	go func() {
		err := error(c.failed(Panicked, errEnded))
		defer func() {
			s.gateway.changing.add(-1)
			done <- err
		}()
		_, err = once(lasting, s.gateway, attempt{c, s.timeout}, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	}()
	return done
}

// counter counts running changes. The zero value is ready to use.
type counter struct {
	mu   sync.Mutex
	n    int             // guarded by mu
	idle []chan struct{} // closed when n is 0; guarded by mu
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
	if c.n == 0 {
		for _, idle := range c.idle {
			close(idle)
		}
		c.idle = nil
	}
}

func (c *counter) running() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n > 0
}

// await returns when no change is running.
func (c *counter) await() {
	c.mu.Lock()
	idle := make(chan struct{})
	if c.n == 0 {
		close(idle)
	} else {
		c.idle = append(c.idle, idle)
	}
	c.mu.Unlock()
	<-idle
}
