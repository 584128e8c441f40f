package cloud

import (
	"context"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

// tried is a call that has ended.
type tried struct {
	call

	try  int // 1 for the first one
	took time.Duration
	err  error
}

// retries reports whether the call is to be made again, because it was not carried out
// or because the quota might be the cause of the failure. It waits until this is known.
// If only this object was refused, it also waits for the pause of the object.
func (g *Gateway) retries(ctx context.Context, t tried) bool {
	switch {
	case isParked(t.err):
		return !t.change && ctx.Err() == nil // The call waits for its turn until the next probe.
	case t.try >= maxTries, isOfEach(t.err):
		return false
	case KindOf(t.err) == Throttled:
		own := max(RetryAfter(t.err), moment<<(t.try-1))
		switch {
		case g.limiter.retriesInside(t): // More tries would multiply those of the provider.
			return false
		case g.limiter.covers(t.call):
			return true // The call waits for the rate of its class.
		}
		return own <= rarely && t.pause(ctx, own)
	case KindOf(t.err) == Failed && EvidenceOf(t.err) == Unread:
		return g.limiter.covers(t.call) || sleep.For(ctx, slow) && g.limiter.covers(t.call)
	default:
		return false
	}
}

// pause waits before the next call. A caller that gives up in the meantime gets the
// error of the last call. pause returns false if the context has ended.
func (t tried) pause(ctx context.Context, d time.Duration) bool {
	t.progress.set(t.err)
	return sleep.For(ctx, d)
}

// covers reports whether a used-up quota is the probable cause of a failure of this call.
func (l *limiter) covers(c call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	of := l.classOf(c, now)
	return of.rate.perSecond > 0 || of.hold.isOpen() && (of.hold.kind == Throttled || of.hold.unread)
}

// retriesInside reports whether the provider has probably retried the call itself. That
// is so if a refused call took unusually long.
func (l *limiter) retriesInside(t tried) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return t.took >= 2*moment && t.took.Seconds() > 3*l.classOf(t.call, time.Now()).usual
}
