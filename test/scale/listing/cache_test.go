package listing

import (
	"context"
	"errors"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-k8s/fairlead/simulator"
)

func TestAListIsKeptForAWhile(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	lists, failure := 0, errors.New("down")
	list := cached(func(context.Context) ([]simulator.Instance, error) {
		lists++
		return make([]simulator.Instance, lists), failure
	}, clock)
	for _, step := range []struct {
		name      string
		after     time.Duration
		failure   error
		lists     int
		instances int
	}{
		{"AnErrorIsReturned", 0, failure, 1, 1},
		{"AnErrorIsNotKept", 0, nil, 2, 2},
		{"AListIsKept", Kept - 1, nil, 2, 2},
		{"AnOldListIsReplaced", 1, nil, 3, 3},
	} {
		clock.SetTime(clock.Now().Add(step.after))
		failure = step.failure
		all, err := list(t.Context())
		if !errors.Is(err, step.failure) || lists != step.lists || len(all) != step.instances {
			t.Errorf("%s: %d lists, %d instances, %v", step.name, lists, len(all), err)
		}
	}
}
