// Package lease limits the time during which this replica may begin to change the cloud
// or objects. An election renews a Lease. internal/cloud awaits the Lease before each
// change, and internal/kube awaits it before each write (promise S7).
//
// The context of the work carries the Lease. So every change under that context
// awaits the Lease.
package lease

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// Lease is the right of this replica to begin changes. It ends by itself unless
// it is renewed in time. If a process was frozen, or its machine was suspended,
// the process finds that its lease has ended.
type Lease struct {
	period time.Duration

	mu      sync.Mutex
	asked   instant       // the time of the last request that has renewed the lease; guarded by mu
	renewed chan struct{} // closed at the next renewal; guarded by mu
}

// New returns a lease. Each renewal makes it valid for the period. The period
// must be shorter than the time after which another replica can lead.
func New(period time.Duration) *Lease {
	return &Lease{period: period, renewed: make(chan struct{})}
}

// Ask must be called before a request that renews the lease. The caller calls the
// returned function after the request has succeeded. The period begins with the call of
// Ask and not with the reply, because the reply might come late.
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

// await returns nil when the lease is valid. If ctx ends first, it returns the
// cause.
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

// NewContext returns a copy of ctx that also carries the lease l.
func NewContext(ctx context.Context, l *Lease) context.Context {
	return context.WithValue(ctx, leasesKey{}, append(slices.Clone(of(ctx)), l))
}

func of(ctx context.Context) []*Lease {
	all, _ := ctx.Value(leasesKey{}).([]*Lease)
	return all
}

// Await waits until all leases of the context are valid, and returns nil. If the
// context has no lease, Await does not wait. If the context ends first, Await
// returns the cause.
func Await(ctx context.Context) error {
	for _, l := range of(ctx) {
		if err := l.await(ctx); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// instant is a point in time, as two clocks show it. The monotonic clock stands still
// while the machine is suspended. The wall clock can be set back.
type instant struct {
	monotonic time.Time
	wall      time.Time
}

func instantOf(t time.Time) instant { return instant{t, t.Round(0)} }

// until returns the time between the two instants, by the clock that has advanced
// more.
func (i instant) until(later instant) time.Duration {
	return max(later.monotonic.Sub(i.monotonic), later.wall.Sub(i.wall))
}
