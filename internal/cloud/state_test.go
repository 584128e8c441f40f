package cloud

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestState(t *testing.T) {
	for _, tc := range []struct {
		name  string
		kinds []Kind // the kinds of the calls, one call each minute
		want  string
	}{
		{"NobodyAsked", nil, "has not answered yet"},
		{"NeverAnswered", []Kind{Unavailable}, "has not answered yet, one call failed since (Unavailable)"},
		{"Answered", []Kind{Succeeded}, "last answered 1m0s ago"},
		{"NotFoundIsAnAnswer", []Kind{Succeeded, Denied, NotFound}, "last answered 1m0s ago"},
		{"FailuresAreCounted", []Kind{Succeeded, TimedOut, Denied}, "last answered 3m0s ago, 2 calls failed since, the last: Denied"},
		{"CanceledAndSlowAreNoFailures", []Kind{Succeeded, Canceled, Slow}, "last answered 3m0s ago"},
		{"AnswerResetsTheCount", []Kind{Throttled, Succeeded}, "last answered 1m0s ago"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &Gateway{}
				for _, kind := range tc.kinds {
					g.state.record(kind)
					time.Sleep(time.Minute)
				}
				if diff := cmp.Diff(tc.want, g.State()); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		})
	}
}
