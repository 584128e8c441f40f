package app

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

// lease is a Lease without a server.
type lease struct {
	mu      sync.Mutex
	version int                               // 0: does not exist; guarded by mu
	record  resourcelock.LeaderElectionRecord // guarded by mu
}

func (l *lease) holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record.HolderIdentity
}

// lock is one replica's view of the lease.
type lock struct {
	*lease
	identity string
	seen     int         // the version that an update is based on
	cut      atomic.Bool // the replica cannot reach the server
}

func (l *lock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut.Load() {
		return nil, nil, errors.New("unreachable")
	}
	if l.version == 0 {
		return nil, nil, apierrors.NewNotFound(leases, "lease")
	}
	l.seen = l.version
	record := l.record
	raw, err := json.Marshal(record)
	return &record, raw, err
}

func (l *lock) Create(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(0, record)
}

func (l *lock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.write(l.seen, record)
}

func (l *lock) write(base int, record resourcelock.LeaderElectionRecord) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut.Load() {
		return errors.New("unreachable")
	}
	if l.version != base {
		return apierrors.NewConflict(leases, "lease", errors.New("changed"))
	}
	l.version++
	l.seen, l.record = l.version, record
	return nil
}

func (l *lock) RecordEvent(string) {}

func (l *lock) Identity() string { return l.identity }

func (l *lock) Describe() string { return "lease" }

// replica takes part in the election for l.
func replica(t *testing.T, l *lease, identity string) (*election, *lock) {
	t.Helper()
	k := &lock{lease: l, identity: identity}
	e, err := electionOf(newElectionOptions(), k)
	if err != nil {
		t.Fatal(err)
	}
	return e, k
}

func untilEnd(ctx context.Context) { <-ctx.Done() }

func TestStop(t *testing.T) {
	for _, tc := range []struct {
		name       string
		inFlight   time.Duration // of a call when the stop comes
		cut        time.Duration // for so long nobody reaches the server then
		want       error
		wantHolder string
	}{
		{"IdleGivesTheLeaseBack", 0, 0, nil, ""},
		{"WorkInFlightIsWaitedFor", 7 * time.Second, 0, nil, ""},
		{"WorkThatDoesNotReturnKeepsTheLease", time.Minute, 0, errNotDrained, "a"},
		{"ServerRestartsMeanwhile", 0, 2 * time.Second, nil, ""},
		{"ServerIsGone", 0, time.Minute, nil, "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lease{}
				e, k := replica(t, l, "a")
				ctx, stop := context.WithCancel(t.Context())
				time.AfterFunc(time.Minute, func() {
					k.cut.Store(tc.cut > 0)
					time.AfterFunc(tc.cut, func() { k.cut.Store(false) })
					stop()
				})
				over := make(chan struct{})
				err := e.run(ctx, func(ctx context.Context) {
					defer close(over)
					<-ctx.Done()
					time.Sleep(tc.inFlight)
					if !errors.Is(tc.want, errNotDrained) && l.holder() != "a" {
						t.Error("the lease was given back while work was in flight")
					}
				})
				if !errors.Is(err, tc.want) {
					t.Errorf("got %v, want %v", err, tc.want)
				}
				if l.holder() != tc.wantHolder {
					t.Errorf("the lease is held by %q, want %q", l.holder(), tc.wantHolder)
				}
				<-over
			})
		})
	}
}

func TestLostLeaseEndsTheWorkAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, k := replica(t, &lease{}, "a")
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		time.AfterFunc(time.Minute, func() { k.cut.Store(true) })
		started := time.Now()
		if err := e.run(ctx, untilEnd); !errors.Is(err, errLeaseLost) {
			t.Errorf("got %v, want %v", err, errLeaseLost)
		}
		if took := time.Since(started) - time.Minute; took > 15*time.Second {
			t.Errorf("still at work %v after the server was last reached; another replica may lead", took)
		}
	})
}

func TestLeaseLostWhileDraining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		lost := make(chan struct{})
		stop()
		time.AfterFunc(time.Second, func() { close(lost) })
		over := make(chan struct{})
		err := hold(ctx, lost, func(context.Context) {
			defer close(over)
			time.Sleep(5 * time.Second)
		})
		if !errors.Is(err, errLeaseLost) {
			t.Errorf("got %v, want %v", err, errLeaseLost)
		}
		<-over
	})
}

func TestStandbyLeavesTheLeaseAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{}
		leader, _ := replica(t, l, "a")
		standby, _ := replica(t, l, "b")
		ctx, stop := context.WithCancel(t.Context())
		var leading sync.WaitGroup
		leading.Go(func() { _ = leader.run(ctx, untilEnd) })
		time.Sleep(time.Second)

		waiting, leave := context.WithTimeout(t.Context(), time.Minute)
		defer leave()
		if err := standby.run(waiting, func(context.Context) { t.Error("the standby works") }); err != nil {
			t.Error(err)
		}
		if l.holder() != "a" {
			t.Errorf("the lease is held by %q", l.holder())
		}
		if !standby.contending() {
			t.Error("the standby has not seen the leader")
		}
		stop()
		leading.Wait()
	})
}

func TestGiveBackDoesNotTakeTheLeaseOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lease{version: 1, record: resourcelock.LeaderElectionRecord{HolderIdentity: "b"}}
		e, _ := replica(t, l, "a")
		e.giveBack(t.Context())
		if l.holder() != "b" {
			t.Errorf("the lease is held by %q, want b", l.holder())
		}
	})
}

func TestHandOver(t *testing.T) {
	for _, tc := range []struct {
		name   string
		end    func(stop context.CancelFunc, k *lock)
		within time.Duration
	}{
		{"Planned", func(stop context.CancelFunc, _ *lock) { stop() }, 6 * time.Second},
		{"Killed", func(_ context.CancelFunc, k *lock) { k.cut.Store(true) }, 24 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lease{}
				first, k := replica(t, l, "a")
				second, _ := replica(t, l, "b")
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				rest, end := context.WithCancel(t.Context())
				var both sync.WaitGroup
				both.Go(func() { _ = first.run(ctx, untilEnd) })
				time.Sleep(time.Second)
				both.Go(func() { _ = second.run(rest, untilEnd) })
				time.Sleep(time.Minute)

				gone := time.Now()
				tc.end(stop, k)
				<-second.leading
				if took := time.Since(gone); took > tc.within {
					t.Errorf("the next leader came after %v, want at most %v", took, tc.within)
				}
				end()
				both.Wait()
			})
		})
	}
}
