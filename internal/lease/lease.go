// Package lease says for how long this replica may begin a change of the cloud
// or of an object. An election renews a Lease, and whoever is about to change
// something awaits it: internal/cloud before each change, and internal/kube
// before each write (promise S7).
//
// The context of the work carries the Lease, so that every change that is
// made under this context awaits the Lease.
package lease

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// Lease is the right of this replica to begin changes. It ends by itself unless
// it is renewed in time. A process that was frozen, or whose machine was
// suspended, finds that its lease has ended.
type Lease struct {
	period time.Duration

	mu      sync.Mutex
	asked   instant       // of the last request that has renewed it; guarded by mu
	renewed chan struct{} // closed at the next renewal; guarded by mu
}

// New returns a lease that each renewal makes valid for the period. The period
// must be shorter than the time after which another replica may lead.
func New(period time.Duration) *Lease {
	return &Lease{period: period, renewed: make(chan struct{})}
}

// Ask is called before a request that renews the lease, and renew once the
// request has succeeded. The lease counts from the request: no other replica
// can have seen the renewal before, and the reply may come late.
func (l *Lease) Ask() (renew func()) {
	asked := instantOf(time.Now())
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.asked = asked
		close(l.renewed)
		l.renewed = make(chan struct{})
	}
}

// await returns when the lease is valid, or with the cause of the end of ctx.
func (l *Lease) await(ctx context.Context) error {
	for told := false; ; told = true {
		l.mu.Lock()
		age, renewed := l.asked.until(instantOf(time.Now())), l.renewed
		l.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case age < l.period:
			return nil
		case !told:
			klog.FromContext(ctx).Info("Another replica may lead; changes wait until the lease is renewed", "lastRenewal", age.Round(time.Millisecond))
		}
		select {
		case <-renewed:
		case <-ctx.Done():
		}
	}
}

type leasesKey struct{}

// NewContext returns a context for work under the lease, and under the leases
// that ctx has already.
func NewContext(ctx context.Context, l *Lease) context.Context {
	return context.WithValue(ctx, leasesKey{}, append(slices.Clone(of(ctx)), l))
}

func of(ctx context.Context) []*Lease {
	all, _ := ctx.Value(leasesKey{}).([]*Lease)
	return all
}

// Await returns nil when all leases of the context are valid, at once if it has
// none. The error is the cause of the end of the context.
func Await(ctx context.Context) error {
	for _, l := range of(ctx) {
		if err := l.await(ctx); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// instant is a time by two clocks. The monotonic one stands still while the
// machine is suspended; the wall clock may be set back.
type instant struct {
	monotonic time.Time
	wall      time.Time
}

func instantOf(t time.Time) instant { return instant{t, t.Round(0)} }

// until returns the time that has passed, by the clock that has gone further.
func (i instant) until(later instant) time.Duration {
	return max(later.monotonic.Sub(i.monotonic), later.wall.Sub(i.wall))
}
