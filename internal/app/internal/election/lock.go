package election

import (
	"context"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/lease"
)

// watchedLock is the lock that the elector uses. With each renewal, it also renews
// the lease.Lease that allows changes. A leader that was frozen might find that
// another replica holds the lock. In that case, watchedLock reports the loss at
// once, while the elector would try to renew the lock until its deadline.
type watchedLock struct {
	resourcelock.Interface

	lease *lease.Lease
	lose  func()
	held  bool // as far as this replica knows; needs no mutex: the elector makes one request at a time
}

// Get is part of resourcelock.Interface.
func (w *watchedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := w.Interface.Get(ctx)
	if err == nil && w.held && record.HolderIdentity != w.Identity() {
		klog.FromContext(ctx).Info("The lease is no longer held by this replica", "lease", w.Describe(), "holder", record.HolderIdentity)
		w.lose()
	}
	return record, raw, err
}

// Create is part of resourcelock.Interface.
func (w *watchedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return w.written(w.lease.Ask(), w.Interface.Create(ctx, record))
}

// Update is part of resourcelock.Interface.
func (w *watchedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return w.written(w.lease.Ask(), w.Interface.Update(ctx, record))
}

func (w *watchedLock) written(renew func(), err error) error {
	if err == nil {
		w.held = true
		renew()
	}
	return err
}
