package cloud

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestState(t *testing.T) {
	for _, tc := range []struct {
		name  string
		kinds []Kind // one a minute
		want  string
	}{
		{"NobodyAsked", nil, "has not answered yet"},
		{"NeverAnswered", []Kind{Unavailable}, "has not answered yet, one call failed since (Unavailable)"},
		{"Answered", []Kind{Succeeded}, "last answered 1m0s ago"},
		{"NoIsAnAnswer", []Kind{Succeeded, Denied, NotFound}, "last answered 1m0s ago"},
		{"FailuresAreCounted", []Kind{Succeeded, TimedOut, Denied}, "last answered 3m0s ago, 2 calls failed since, the last: Denied"},
		{"OurOwnEndIsNoFailure", []Kind{Succeeded, Canceled, Slow}, "last answered 3m0s ago"},
		{"AnswerEndsTheCount", []Kind{Throttled, Succeeded}, "last answered 1m0s ago"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			now := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
			g := &Gateway{clock: now}
			for _, kind := range tc.kinds {
				g.state.settled(kind, now.Now())
				now.SetTime(now.Now().Add(time.Minute))
			}
			if diff := cmp.Diff(tc.want, g.State()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
