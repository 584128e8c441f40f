package election

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"
)

// drainTimeout is the time that work in flight gets to return when the process ends.
// The kubelet kills the process after 30 seconds. The sum of drainTimeout and
// releaseTimeout stays well below that.
const drainTimeout = 8 * time.Second

// Hold and Run return one of these errors if work may still be in flight. ErrWentBack
// means that the storage of the API server holds an earlier state than this process has
// seen, so everything that the process remembers may be wrong. Its watches can wait for a
// version that the storage has not reached, and show nothing. Only a new process sees what
// is there.
var (
	ErrWentBack   = errors.New("the cluster has gone back to an earlier state, as if etcd was restored from a backup: the lease has an older resourceVersion than this process has written; only a new process sees what the cluster holds now")
	ErrNotDrained = errors.New("work was still in flight when the time to stop was over; the lease is left to expire")
	ErrLeaseLost  = errors.New("leaderelection lost")
)

// Hold runs the function work and waits until ctx ends, even if work returns earlier.
// Then it waits until work has returned, but at most for drainTimeout. If work has
// returned by then, Hold returns nil. Only then may another replica take over. If
// the channel lost is closed, another replica might already be at work. Then Hold ends
// the context of work and returns at once.
func Hold(ctx context.Context, lost <-chan struct{}, work func(context.Context)) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		work(working)
	}()
	select {
	case <-ctx.Done():
	case <-lost:
		return ErrLeaseLost
	}
	logger := klog.FromContext(ctx)
	logger.Info("Stopping; no new work is taken", "why", context.Cause(ctx).Error())
	timer := time.NewTimer(drainTimeout)
	defer timer.Stop()
	select {
	case <-done:
		logger.Info("All work is over")
		return nil
	case <-lost:
		return ErrLeaseLost
	case <-timer.C:
		return ErrNotDrained
	}
}
