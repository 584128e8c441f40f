package cloud

import (
	"context"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

// share is the part of the quota for calls that nobody waits for. The zero value limits
// nothing.
type share struct {
	budget    float64   // the calls a second that the operator says the quota allows; 0: unknown
	perSecond float64   // the rate of such calls as it was last computed
	next      time.Time // when the next such call may begin
	waits     waits
}

// begin records that such a call begins.
func (s *share) begin(now time.Time, perSecond float64) {
	if s.next.Before(now) {
		s.next = now
	}
	s.add(perSecond, 1)
}

// refund records that a call has cost nothing.
func (s *share) refund(perSecond float64) { s.add(perSecond, -1) }

func (s *share) add(perSecond, calls float64) {
	if perSecond > 0 {
		s.next = s.next.Add(time.Duration(calls / perSecond * float64(time.Second)))
	}
}

// shareOf returns the rate of the calls of a kind that nobody waits for: a part of the
// smallest quota that was measured in any region, or that flags tell; 0: unknown. The
// caller holds mu.
func (l *limiter) shareOf(kind string, now time.Time) (perSecond float64) {
	quotas := []float64{l.ceiling.PerSecond, l.share.budget}
	for _, c := range l.classes {
		if c.key.kind == kind {
			quotas = append(quotas, c.rate.known(now))
		}
	}
	for _, quota := range quotas {
		if quota > 0 && (perSecond == 0 || background*quota < perSecond) {
			perSecond = background * quota
		}
	}
	return perSecond
}

// awaitShare returns nil when a call of this class may be made that nobody waits for.
func (l *limiter) awaitShare(ctx context.Context, c call) error {
	for began := time.Now(); ; {
		d := l.delayOfShare(c, began)
		if d <= 0 || !sleep.For(ctx, d) {
			return ctx.Err()
		}
	}
}

// delayOfShare returns the time that such a call has to wait. It also waits while others
// wait for the quota, whatever their class, because classes may share it; but not for ever.
func (l *limiter) delayOfShare(c call, began time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	l.share.perSecond = l.shareOf(kindOf(c.method), now)
	if l.share.perSecond > 0 && l.share.next.After(now) {
		l.share.waits.add(ShareLimits, now)
		return l.share.next.Sub(now)
	}
	for _, other := range l.classes {
		if other.turns.count(lowPriority) > 0 && other.rate.perSecond > 0 && now.Sub(began) < lately {
			return moment
		}
	}
	return 0
}
