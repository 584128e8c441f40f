package election

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"
)

// drainTimeout is how long work in flight may take to return when the process
// ends. With the time to give the lease back it stays well below the 30 seconds
// that a kubelet grants.
const drainTimeout = 8 * time.Second

// Why Hold and Run return before the work is over.
var (
	ErrNotDrained = errors.New("work was still in flight when the time to stop was over; the lease is left to expire")
	ErrLeaseLost  = errors.New("leaderelection lost")
)

// Hold runs work until ctx ends and gives it drainTimeout to return. It returns
// nil when work is over: only then another replica may take over. When lost is
// closed another replica may be at work already: work is to stop, and Hold
// returns at once.
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
	patience := time.NewTimer(drainTimeout)
	defer patience.Stop()
	select {
	case <-done:
		logger.Info("All work is over")
		return nil
	case <-lost:
		return ErrLeaseLost
	case <-patience.C:
		return ErrNotDrained
	}
}
