package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// timeChecks returns the checks in which the cloud does not answer a call, or asks the
// provider to wait before the next call.
func timeChecks() []Check {
	needs := []Need{NeedMachines, NeedFaulter}
	return []Check{
		{
			ID: "instances/cancel", Level: Core, Since: "0.2", Needs: needs, run: canceled,
			Title:  "A call returns with an error when its context is canceled",
			Source: sourceContext, Cost: "The daemon cannot stop, and a new leader starts while the old one still writes.",
		},
		{
			ID: "instances/deadline", Level: Core, Since: "0.2", Needs: needs, run: deadline,
			Title:  "A call returns with an error when its deadline has passed",
			Source: sourceContext, Cost: costStuck,
		},
		{
			ID: "instances/others-hang", Level: Core, Since: "0.2", Needs: needs, run: othersHang,
			Title:  "If the cloud does not answer one caller, other callers do not wait",
			Source: sourceContext, Cost: costStuck,
		},
		{
			ID: "instances/retry-after", Level: Extended, Since: "0.2", Needs: append(needs, NeedMeter), run: retryAfter,
			Title:  "After the cloud has asked to wait, a call does not ask again before that time",
			Source: "HTTP: Retry-After", Cost: "The cloud throttles the account for longer, and so everything that uses this account.",
		},
	}
}

// much is the time within which a call must return after its context has ended.
// It is generous, because the machine may be busy.
const much = 5 * time.Second

func canceled(t *trial) {
	errGone := errors.New("the caller has gone")
	t.unanswered(func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		time.AfterFunc(100*time.Millisecond, func() { cancel(errGone) })
		return ctx, func() { cancel(nil) }
	})
}

func deadline(t *trial) {
	t.unanswered(func(ctx context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(ctx, 100*time.Millisecond)
	})
}

// unanswered calls the provider while the cloud does not answer. The context of the call
// ends soon.
func (t *trial) unanswered(ending func(context.Context) (context.Context, context.CancelFunc)) {
	m := t.machine("a")
	if !t.under(Fault{Kind: FaultHang}, func() {
		ctx, cancel := ending(t.ctx)
		defer cancel()
		ended := make(chan error, 1)
		go func() {
			problem := errors.New("the goroutine of the caller was ended")
			defer func() {
				if p := recover(); p != nil {
					problem = fmt.Errorf("panic: %v", p)
				}
				ended <- problem
			}()
			exists, err := t.exists(ctx, joined(m))
			problem = nil // both an error and an answer without a call are right
			if err == nil && !exists {
				problem = errors.New("it said that the instance does not exist")
			}
		}()
		<-ctx.Done()
		select {
		case err := <-ended:
			if err != nil {
				t.errorf("InstanceExists, while the cloud does not answer: %v; want an error", err)
			}
		case <-time.After(much):
			t.errorf("InstanceExists has not returned %v after its context has ended (%v)", much, ctx.Err())
		}
	}) {
		t.notRunf("the world has no fault %s", FaultHang)
	}
}

func othersHang(t *trial) {
	a, b := t.machine("a"), t.machine("b")
	if !t.under(Fault{Kind: FaultHang, Count: 1}, func() {
		other, cancel := context.WithCancel(t.ctx)
		defer cancel()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			defer func() { _ = recover() }() // other checks report a panic
			_, _ = t.instances().InstanceExists(other, joined(a))
		}()
		select {
		case <-ended: // the provider needed no call
		case <-time.After(200 * time.Millisecond):
		}
		// The fault may hit this call instead of the one in the goroutine. Then the next
		// call succeeds.
		var err error
		for range 3 {
			t.brief(func(ctx context.Context) {
				defer t.promptly(joined(b), time.Now())
				var exists bool
				if exists, err = t.exists(ctx, joined(b)); err == nil && !exists {
					err = errors.New("it said that the instance does not exist")
				}
			})
			if err == nil {
				break
			}
		}
		if err != nil {
			t.errorf("while another caller waits for the cloud, InstanceExists(%s): %v; want true, nil", show(joined(b)), err)
		}
	}) {
		t.notRunf("the world has no fault %s", FaultHang)
	}
}

// promptly requires that a call through t.brief has returned soon after the end of its
// context.
func (t *trial) promptly(n *corev1.Node, began time.Time) {
	if took := time.Since(began); took > callTime+much {
		t.failf("while another caller waits for the cloud, InstanceExists(%s) has taken %v; its context had ended after %v", show(n), took.Truncate(time.Second), callTime)
	}
}

func retryAfter(t *trial) {
	m := t.machine("a")
	const pause = time.Minute
	if !t.under(Fault{Kind: FaultThrottled, RetryAfter: pause}, func() {
		calls := t.counted(func() {
			t.brief(func(ctx context.Context) { _, _ = t.exists(ctx, joined(m)) })
		})
		if calls.Refused > 1 {
			t.errorf("the cloud has asked to wait for %v, and one InstanceExists has called it %d times within %v", pause, calls.Refused, callTime)
		}
	}) {
		t.notRunf("the world cannot set the fault %s with Fault.RetryAfter", FaultThrottled)
	}
}
