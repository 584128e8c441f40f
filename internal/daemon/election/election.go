package election

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/util/retry"
	componentbaseconfig "k8s.io/component-base/config"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/lease"
)

const (
	// expiredTolerance is how long a leader still reports that it is healthy after
	// its lease has expired. Within that time, the process should end by itself.
	expiredTolerance = 20 * time.Second
	// releaseTimeout bounds the requests that release the lease.
	releaseTimeout = 5 * time.Second
)

// Election lets this replica take part in the election of a leader.
type Election struct {
	lock     resourcelock.Interface
	lease    *lease.Lease // changes wait until this lease is valid
	elector  *leaderelection.LeaderElector
	watchdog *leaderelection.HealthzAdaptor
	leading  chan struct{} // closed when this replica becomes the leader
	lost     chan struct{} // closed when this replica must not go on
	once     sync.Once     // closes lost
	why      error         // set before lost is closed
	recovery Recovery
	known    atomic.Bool // set once a leader was observed, which shows that the lease can be read
}

// Config is the configuration of an election.
type Config = componentbaseconfig.LeaderElectionConfiguration

// Join returns an election for the Lease that the configuration names.
func Join(c Config, config *rest.Config, recorder resourcelock.EventRecorder) (*Election, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("identity in the election: %w", err)
	}
	// Two processes on one host must not have the same identity.
	identity := host + "_" + string(uuid.NewUUID())
	lock, err := resourcelock.NewFromKubeconfig(c.ResourceLock, c.ResourceNamespace, c.ResourceName,
		resourcelock.ResourceLockConfig{Identity: identity, EventRecorder: recorder}, config, c.RenewDeadline.Duration)
	if err != nil {
		return nil, fmt.Errorf("lease: %w", err)
	}
	return New(c, lock)
}

// New returns an election for a lock.
func New(c Config, lock resourcelock.Interface) (*Election, error) {
	e := &Election{
		lock:     lock,
		lease:    lease.New(c.RenewDeadline.Duration),
		watchdog: leaderelection.NewLeaderHealthzAdaptor(expiredTolerance),
		leading:  make(chan struct{}),
		lost:     make(chan struct{}),
	}
	leads := sync.OnceFunc(func() { close(e.leading) })
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          &watchedLock{Interface: lock, lease: e.lease, lose: e.lose, version: watchVersions(lock)},
		Name:          c.ResourceName,
		LeaseDuration: c.LeaseDuration.Duration,
		RenewDeadline: c.RenewDeadline.Duration,
		RetryPeriod:   c.RetryPeriod.Duration,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { leads() },
			OnStoppedLeading: func() {},
			OnNewLeader:      func(string) { e.known.Store(true) },
		},
	})
	if err != nil {
		return nil, fmt.Errorf("election: %w", err)
	}
	e.elector = elector
	e.watchdog.SetLeaderElection(elector)
	return e, nil
}

// Run waits for the lease, and runs the function work while this replica holds it.
// It releases the lease once ctx has ended and work has returned.
func (e *Election) Run(ctx context.Context, work func(context.Context)) error {
	// The renewal goes on after the end of ctx, until work has returned.
	renewing, stopRenewing := context.WithCancel(context.WithoutCancel(ctx))
	defer stopRenewing()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.elector.Run(renewing)
		for e.recovers(renewing) {
			e.elector.Run(renewing)
		}
		e.lose(ErrLeaseLost)
	}()
	select {
	case <-e.leading:
		err := Hold(lease.NewContext(ctx, e.lease), e.lost, work)
		if errors.Is(err, ErrLeaseLost) {
			return e.why
		}
		if err != nil {
			return err
		}
	case <-ctx.Done():
	}
	stopRenewing()
	<-ended
	e.release(ctx)
	return nil
}

// RunWithin does the same as Run for a second lease, which is held in addition to
// the main one. It does not return while work is in flight, so the process keeps the
// main lease until then.
func (e *Election) RunWithin(ctx context.Context, main *Election, work func(context.Context)) {
	over := make(chan struct{})
	err := e.Run(ctx, func(ctx context.Context) {
		defer close(over)
		work(ctx)
	})
	if errors.Is(err, ErrLeaseLost) || errors.Is(err, ErrWentBack) {
		main.lose(err) // Another component might be at work, so the process ends at once.
	}
	if err != nil {
		<-over
	}
}

// lose makes Run return the error at once, while the function work may still run.
func (e *Election) lose(why error) {
	e.once.Do(func() {
		e.why = why
		close(e.lost)
	})
}

// Lease returns the lease for which changes have to wait (lease.Await).
func (e *Election) Lease() *lease.Lease { return e.lease }

// Check returns the health check of the lease.
func (e *Election) Check() *leaderelection.HealthzAdaptor { return e.watchdog }

// release empties the lease if this replica holds it. Another replica then need not
// wait until the lease expires. The elector has an option for this, but with that
// option it does not check whether another replica has taken the lease in the
// meantime. A standby replica also calls release, because an interrupted request may
// have given it the lease.
func (e *Election) release(ctx context.Context) {
	logger := klog.FromContext(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	// If an interrupted renewal has reached the server, the first attempt fails with
	// a conflict.
	// If the server is being restarted, it might answer again within three seconds.
	again := func(err error) bool { return ctx.Err() == nil && (apierrors.IsConflict(err) || e.elector.IsLeader()) }
	err := retry.OnError(wait.Backoff{Steps: 6, Duration: 100 * time.Millisecond, Factor: 2}, again, func() error {
		held, _, err := e.lock.Get(ctx)
		if err != nil || held.HolderIdentity != e.lock.Identity() {
			return err
		}
		free := resourcelock.LeaderElectionRecord{
			LeaderTransitions:    held.LeaderTransitions,
			LeaseDurationSeconds: 1, // the least that the API accepts
			AcquireTime:          held.AcquireTime,
			RenewTime:            held.RenewTime,
		}
		if err := e.lock.Update(ctx, free); err != nil {
			return err
		}
		logger.Info("Released the lease", "lease", e.lock.Describe())
		return nil
	})
	if err != nil && e.elector.IsLeader() {
		logger.Error(err, "The lease was not released and will expire", "lease", e.lock.Describe())
	}
}

// Contending reports whether this replica leads or stands by. It returns false until
// this replica has seen a leader.
func (e *Election) Contending() bool { return e.known.Load() }
