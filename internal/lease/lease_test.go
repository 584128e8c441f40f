package lease

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAwait(t *testing.T) {
	const period = 10 * time.Second
	for _, tc := range []struct {
		name    string
		age     time.Duration // the age of the last renewal
		renewed time.Duration // the next renewal comes after this time; 0: none
		want    time.Duration // the time until the change begins; negative: never
	}{
		{"FreshLeaseDoesNotWait", 9 * time.Second, 0, 0},
		{"OldLeaseWaitsForItsRenewal", 10 * time.Second, 3 * time.Second, 3 * time.Second},
		{"LeaseThatIsNotRenewedBeginsNothing", 20 * time.Second, 0, -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over := errors.New("over")
				l := New(period)
				l.Ask()()
				time.Sleep(tc.age)
				ctx, stop := context.WithTimeoutCause(NewContext(t.Context(), l), time.Minute, over)
				defer stop()
				began := time.Now()
				if tc.renewed > 0 {
					time.AfterFunc(tc.renewed, func() { l.Ask()() })
				}
				err := Await(ctx)
				if tc.want < 0 {
					if !errors.Is(err, over) {
						t.Errorf("error %v, want the cause of the end", err)
					}
					return
				}
				if took := time.Since(began); err != nil || took != tc.want {
					t.Errorf("error %v after %v, want nil after %v", err, took, tc.want)
				}
			})
		})
	}
}

// The period of a renewal begins with the request. If the process is frozen after the
// request, a late reply does not make the lease valid.
func TestLateReplyDoesNotRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(10 * time.Second)
		ctx, stop := context.WithTimeout(NewContext(t.Context(), l), time.Minute)
		defer stop()
		time.AfterFunc(20*time.Second, l.Ask())
		if err := Await(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want no change to begin", err)
		}
	})
}

func TestAwaitsAllLeasesOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := New(time.Second), New(time.Hour)
		ctx := NewContext(NewContext(t.Context(), first), second)
		first.Ask()()
		second.Ask()()
		if err := Await(ctx); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		ctx, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		if err := Await(ctx); err == nil {
			t.Error("a change began although one of the leases is over")
		}
	})
	ended, stop := context.WithCancel(t.Context())
	if err := Await(ended); err != nil {
		t.Errorf("without a lease: %v", err)
	}
	stop()
	if err := Await(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func TestAgeIsByTheClockThatHasGoneFurther(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, later := range map[string]instant{
		"SuspendedMachine":   {start.Add(time.Second), start.Add(time.Minute)},
		"WallClockIsSetBack": {start.Add(time.Minute), start.Add(-time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (instant{start, start}).until(later); got != time.Minute {
				t.Errorf("got %v, want %v", got, time.Minute)
			}
		})
	}
}
