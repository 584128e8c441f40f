package cloud

import (
	"context"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

// maxTries is the maximum number of calls for one question or change while the quota of
// the cloud is used up.
const maxTries = 5

// longestOwnPause bounds the pause that applies to one object alone. If the cloud asks
// for a longer pause, the call is not made again, and the caller gets the error.
const longestOwnPause = 30 * time.Second

// tried is a call that has ended.
type tried struct {
	call

	try  int // 1 for the first one
	took time.Duration
	err  error
}

// retries reports whether the call is to be made again, because it was not carried out
// or because the quota might be the cause of the failure. It waits until this is known.
// If the call is to be made again, it also waits for the pause of this object.
func (g *Gateway) retries(ctx context.Context, t tried) bool {
	if t.try == maxTries {
		return false
	}
	switch {
	case isParked(t.err):
		return t.pause(ctx, RetryAfter(t.err))
	case KindOf(t.err) == Throttled:
		if g.limiter.retriesInside(t.took) {
			return false // The provider retries calls itself. More tries by the gateway would multiply those tries.
		}
		if EvidenceOf(t.err) == Typed {
			return true // The limiter holds all calls back.
		}
		own := max(RetryAfter(t.err), defaultPause<<(t.try-1))
		return own <= longestOwnPause && t.pause(ctx, own)
	case KindOf(t.err) == Failed && EvidenceOf(t.err) == Unread:
		return g.limiter.mayBeThrottled(t.object()) ||
			sleep.For(ctx, verdictDelay) && g.limiter.mayBeThrottled(t.object())
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
