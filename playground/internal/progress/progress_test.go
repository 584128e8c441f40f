package progress

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestSteps(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	take := func(d time.Duration, err error) func() error {
		return func() error {
			clock.SetTime(clock.Now().Add(d))
			return err
		}
	}
	var out strings.Builder
	s := To(&out, clock)
	if err := s.Do("etcd ready", take(1234*time.Millisecond, nil)); err != nil {
		t.Error(err)
	}
	s.Note("%s boots", "node-1")
	failed := errors.New("failed")
	if err := s.Do("nodes ready", take(time.Minute, failed)); !errors.Is(err, failed) {
		t.Errorf("got %v, want %v", err, failed)
	}
	if err := s.Do("all ready", take(time.Minute, nil)); err != nil {
		t.Error(err)
	}
	want := `   1.2 s  etcd ready
          node-1 boots
  60.0 s  all ready
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}
