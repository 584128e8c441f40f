package election

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/daemon/election/electiontest"
	"github.com/fairlead-k8s/fairlead/internal/lease"
)

// The API server is away for a minute, once the leader has worked for a minute.
func TestOutage(t *testing.T) {
	const outage = time.Minute
	for _, tc := range []struct {
		name     string
		timeout  time.Duration
		changing bool
		happens  func(l *electiontest.Lease) // during the outage
		want     error
	}{
		{"RecoveryIsOff", 0, false, nil, ErrLeaseLost},
		{"Outlived", 2 * time.Minute, false, nil, nil},
		{"IsLongerThanTheTimeout", 30 * time.Second, false, nil, ErrLeaseLost},
		{"ChangeIsInFlight", 2 * time.Minute, true, nil, ErrLeaseLost},
		{"LeaseIsTaken", 2 * time.Minute, false, func(l *electiontest.Lease) { l.Take("b") }, ErrLeaseLost},
		{"LeaseIsReleased", 2 * time.Minute, false, func(l *electiontest.Lease) { l.Take("") }, ErrLeaseLost},
		{"LeaseIsDeleted", 2 * time.Minute, false, (*electiontest.Lease).Delete, ErrLeaseLost},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &electiontest.Lease{}
				e, k := replica(t, l, "a")
				e.Recover(Recovery{tc.timeout, func() bool { return tc.changing }})
				ctx, stop := context.WithTimeout(t.Context(), time.Hour)
				defer stop()
				cut := time.Now().Add(time.Minute)
				time.AfterFunc(time.Until(cut), func() { k.Cut.Store(true) })
				if tc.happens != nil {
					time.AfterFunc(time.Until(cut)+30*time.Second, func() { tc.happens(l) })
				}
				time.AfterFunc(time.Until(cut)+outage, func() { k.Cut.Store(false) })
				last, paused := time.Now(), time.Duration(0)
				err := e.Run(ctx, func(ctx context.Context) {
					for lease.Await(ctx) == nil {
						paused = max(paused, time.Since(last))
						last = time.Now()
						time.Sleep(100 * time.Millisecond)
					}
				})
				if !errors.Is(err, tc.want) {
					t.Errorf("got %v, want %v", err, tc.want)
				}
				if most := outage + 2*time.Second; tc.want == nil && (paused < outage-electiontest.Config().RenewDeadline.Duration || paused > most) {
					t.Errorf("changes waited for %v, want the outage of %v", paused, outage)
				}
				if sinceCut := last.Sub(cut); tc.want != nil && sinceCut > electiontest.Config().RenewDeadline.Duration {
					t.Errorf("a change began %v after the API server was last reached", sinceCut)
				}
				if err := e.Check().Check(nil); tc.want == nil && err != nil {
					t.Errorf("the probe fails: %v", err)
				}
			})
		})
	}
}

// The probe must not end a process that waits for the API server.
func TestProbeDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, k := replica(t, &electiontest.Lease{}, "a")
		e.Recover(Recovery{2 * time.Minute, func() bool { return false }})
		time.AfterFunc(time.Minute, func() { k.Cut.Store(true) })
		time.AfterFunc(2*time.Minute+30*time.Second, func() {
			if err := e.Check().Check(nil); err != nil {
				t.Errorf("90 seconds after the API server was last reached: %v", err)
			}
		})
		if err := e.Run(t.Context(), untilEnd); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("got %v, want %v", err, ErrLeaseLost)
		}
	})
}
