package election

import (
	"context"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/lease"
)

// watchedLock is the lock that the elector uses. When the elector renews the lock,
// watchedLock also renews the lease.Lease. Changes wait until the lease.Lease is valid.
// A leader that was frozen might find that another replica holds the lock. Then
// watchedLock reports the loss at once. The elector alone would try to renew the lock
// until the deadline of the renewal.
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
