package election

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

// recoveryPause is the time between two questions about a lease that was not renewed.
const recoveryPause = time.Second

// Recovery lets a leader outlive an outage of the API server, as upstream's KEP-6361 does.
// The zero value ends the process once the lease was not renewed in time.
type Recovery struct {
	// Timeout is the longest time that this replica waits for the API server.
	Timeout time.Duration
	// Changing reports whether a change of the cloud is in flight. Another replica might
	// take the lease meanwhile, so the process then ends.
	Changing func() bool
}

// Recover makes the election outlive an outage. It must be called before Run.
func (e *Election) Recover(r Recovery) {
	e.recovery = r
	e.watchdog = leaderelection.NewLeaderHealthzAdaptor(expiredTolerance + r.Timeout)
	e.watchdog.SetLeaderElection(e.elector)
}

// recovers waits until the API server shows the lease, and reports whether it still has
// this replica's name. If so, no other replica has led, because each would have taken the
// lease first. Changes have been waiting since the lease was last valid.
func (e *Election) recovers(ctx context.Context) bool {
	select {
	case <-e.leading:
	default:
		return false // Run has ended.
	}
	if ctx.Err() != nil || e.recovery.Timeout <= 0 || e.recovery.Changing() {
		return false
	}
	logger := klog.FromContext(ctx)
	logger.Info("The lease was not renewed in time; nothing is changed until it is", "lease", e.lock.Describe(), "timeout", e.recovery.Timeout)
	ctx, cancel := context.WithTimeout(ctx, e.recovery.Timeout)
	defer cancel()
	for sleep.For(ctx, recoveryPause) {
		record, _, err := e.lock.Get(ctx)
		switch {
		case err == nil:
			return record.HolderIdentity == e.lock.Identity()
		case apierrors.IsNotFound(err):
			return false // Another replica might have created it again, and deleted it.
		}
	}
	return false
}
