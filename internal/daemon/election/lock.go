package election

import (
	"context"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/lease"
)

// watchedLock is the lock that the elector uses. When the elector renews the lock,
// watchedLock also renews the lease.Lease. Changes wait until the lease.Lease is valid.
// A leader that was frozen might find that another replica holds the lock. Then
// watchedLock reports the loss at once. The elector alone would try to renew the lock
// until the deadline of the renewal. watchedLock also finds that the versions of the Lease
// have gone back.
type watchedLock struct {
	resourcelock.Interface

	lease *lease.Lease
	lose  func(error)
	held  bool // as far as this replica knows; needs no mutex: the elector makes one request at a time
	// version returns the resourceVersion of the last answer. written is that of the last
	// successful write, and isBack means that a read has shown an older one since.
	version func() string
	written string
	isBack  bool
}

// Get is part of resourcelock.Interface.
func (w *watchedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := w.Interface.Get(ctx)
	if err != nil {
		return record, raw, err
	}
	w.isBack = isBefore(w.version(), w.written)
	if w.held && record.HolderIdentity != w.Identity() {
		klog.FromContext(ctx).Info("The lease is no longer held by this replica", "lease", w.Describe(), "holder", record.HolderIdentity)
		w.end(ErrLeaseLost)
	}
	return record, raw, nil
}

// Create is part of resourcelock.Interface.
func (w *watchedLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return w.wrote(w.lease.Ask(), w.Interface.Create(ctx, record))
}

// Update is part of resourcelock.Interface.
func (w *watchedLock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return w.wrote(w.lease.Ask(), w.Interface.Update(ctx, record))
}

// wrote handles the end of a write. The version that a write returns was given by the
// storage itself, after all earlier ones. A read alone is no proof: something between the
// API server and this replica might have answered from a cache. A write that is based on
// such an answer fails with a conflict.
func (w *watchedLock) wrote(renew func(), err error) error {
	if err != nil {
		return err
	}
	now := w.version()
	if isBefore(now, w.written) {
		w.isBack = true
		w.end(ErrWentBack)
		return nil // The lease.Lease ends, so that no change begins.
	}
	w.held, w.isBack, w.written = true, false, now
	renew()
	return nil
}

// end ends this replica's time as the leader.
func (w *watchedLock) end(why error) {
	if w.isBack {
		klog.Background().Info("The resourceVersion of the lease has gone back", "lease", w.Describe(), "written", w.written, "now", w.version())
		why = ErrWentBack
	}
	w.lose(why)
}

// isBefore reports whether a resourceVersion is older than another one. A version that
// cannot be compared is not.
func isBefore(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
