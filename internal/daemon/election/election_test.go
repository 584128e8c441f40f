package election

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/daemon/election/electiontest"
	"github.com/fairlead-k8s/fairlead/internal/lease"
)

// replica returns a replica that takes part in the election for the Lease.
func replica(t *testing.T, l *electiontest.Lease, identity string) (*Election, *electiontest.Lock) {
	t.Helper()
	k := l.Lock(identity)
	e, err := New(electiontest.Config(), k)
	if err != nil {
		t.Fatal(err)
	}
	return e, k
}

func untilEnd(ctx context.Context) { <-ctx.Done() }

func TestStop(t *testing.T) {
	for _, tc := range []struct {
		name       string
		inFlight   time.Duration // duration of the call after the stop
		cut        time.Duration // time after the stop during which the server cannot be reached
		want       error
		wantHolder string
	}{
		{"IdleReleasesTheLease", 0, 0, nil, ""},
		{"WorkInFlightIsAwaited", 7 * time.Second, 0, nil, ""},
		{"WorkThatDoesNotReturnKeepsTheLease", time.Minute, 0, ErrNotDrained, "a"},
		{"ServerRestartsMeanwhile", 0, 2 * time.Second, nil, ""},
		{"ServerIsGone", 0, time.Minute, nil, "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &electiontest.Lease{}
				e, k := replica(t, l, "a")
				ctx, stop := context.WithCancel(t.Context())
				time.AfterFunc(time.Minute, func() {
					k.Cut.Store(tc.cut > 0)
					time.AfterFunc(tc.cut, func() { k.Cut.Store(false) })
					stop()
				})
				over := make(chan struct{})
				err := e.Run(ctx, func(ctx context.Context) {
					defer close(over)
					<-ctx.Done()
					time.Sleep(tc.inFlight)
					if !errors.Is(tc.want, ErrNotDrained) && l.Holder() != "a" {
						t.Error("the lease was released while work was in flight")
					}
				})
				if !errors.Is(err, tc.want) {
					t.Errorf("got %v, want %v", err, tc.want)
				}
				if l.Holder() != tc.wantHolder {
					t.Errorf("the lease is held by %q, want %q", l.Holder(), tc.wantHolder)
				}
				<-over
			})
		})
	}
}

func TestLostLeaseEndsTheWorkAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, k := replica(t, &electiontest.Lease{}, "a")
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		time.AfterFunc(time.Minute, func() { k.Cut.Store(true) })
		started := time.Now()
		if err := e.Run(ctx, untilEnd); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("got %v, want %v", err, ErrLeaseLost)
		}
		if took := time.Since(started) - time.Minute; took > 15*time.Second {
			t.Errorf("still at work %v after the server was last reached; another replica may lead", took)
		}
	})
}

// A leader that was frozen finds that another replica holds the lease.
func TestLeaseOfAnotherEndsTheWorkAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &electiontest.Lease{}
		e, _ := replica(t, l, "a")
		time.AfterFunc(time.Minute, func() { l.Take("b") })
		started := time.Now()
		if err := e.Run(t.Context(), untilEnd); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("got %v, want %v", err, ErrLeaseLost)
		}
		if took := time.Since(started) - time.Minute; took > electiontest.Config().RetryPeriod.Duration {
			t.Errorf("still at work %v after another replica had taken the lease", took)
		}
	})
}

// No change begins after the deadline of the renewal, although the elector still
// tries to renew the lease.
func TestNoChangeBeginsUnderAnOldLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, k := replica(t, &electiontest.Lease{}, "a")
		cut := time.Now().Add(time.Minute)
		time.AfterFunc(time.Minute, func() { k.Cut.Store(true) })
		var last time.Time
		err := e.Run(t.Context(), func(ctx context.Context) {
			for lease.Await(ctx) == nil {
				last = time.Now()
				if age := time.Since(cut); age > electiontest.Config().RenewDeadline.Duration {
					t.Errorf("a change began %v after the last renewal", age)
				}
				time.Sleep(100 * time.Millisecond)
			}
		})
		if !errors.Is(err, ErrLeaseLost) {
			t.Errorf("got %v, want %v", err, ErrLeaseLost)
		}
		if last.Before(cut) {
			t.Errorf("the last change began %v before the last renewal", cut.Sub(last))
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
		err := Hold(ctx, lost, func(context.Context) {
			defer close(over)
			time.Sleep(5 * time.Second)
		})
		if !errors.Is(err, ErrLeaseLost) {
			t.Errorf("got %v, want %v", err, ErrLeaseLost)
		}
		<-over
	})
}

func TestStandbyLeavesTheLeaseAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &electiontest.Lease{}
		leader, _ := replica(t, l, "a")
		standby, _ := replica(t, l, "b")
		ctx, stop := context.WithCancel(t.Context())
		var leading sync.WaitGroup
		leading.Go(func() { _ = leader.Run(ctx, untilEnd) })
		time.Sleep(time.Second)

		waiting, leave := context.WithTimeout(t.Context(), time.Minute)
		defer leave()
		if err := standby.Run(waiting, func(context.Context) { t.Error("the standby works") }); err != nil {
			t.Error(err)
		}
		if l.Holder() != "a" {
			t.Errorf("the lease is held by %q", l.Holder())
		}
		if !standby.Contending() {
			t.Error("the standby has not seen the leader")
		}
		stop()
		leading.Wait()
	})
}

func TestReleaseLeavesTheLeaseOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := electiontest.Held("b", 0)
		e, _ := replica(t, l, "a")
		e.release(t.Context())
		if l.Holder() != "b" {
			t.Errorf("the lease is held by %q, want b", l.Holder())
		}
	})
}

func TestHandOver(t *testing.T) {
	for _, tc := range []struct {
		name   string
		end    func(stop context.CancelFunc, k *electiontest.Lock)
		within time.Duration
	}{
		{"Planned", func(stop context.CancelFunc, _ *electiontest.Lock) { stop() }, 6 * time.Second},
		{"Killed", func(_ context.CancelFunc, k *electiontest.Lock) { k.Cut.Store(true) }, 24 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &electiontest.Lease{}
				first, k := replica(t, l, "a")
				second, _ := replica(t, l, "b")
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				rest, end := context.WithCancel(t.Context())
				var both sync.WaitGroup
				both.Go(func() { _ = first.Run(ctx, untilEnd) })
				time.Sleep(time.Second)
				both.Go(func() { _ = second.Run(rest, untilEnd) })
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
