package cloud

import (
	"testing"
	"time"
)

func TestWidth(t *testing.T) {
	answers := func(w *width, n int) {
		for range n {
			w.answer(at(0), slow, 0)
		}
	}
	for _, tt := range []struct {
		name    string
		do      func(w *width)
		at      float64 // when the next call would begin
		running int
		want    float64 // calls at the same time
		waits   time.Duration
	}{
		{"ColdClassMakesTwoCalls", func(*width) {}, 0, 1, 2, 0},
		{"ThirdCallOfAColdClassWaits", func(*width) {}, 0, 2, 2, untilOneEnds},
		{"EachAnswerAllowsOneMore", func(w *width) { w.delay(at(0), 0); answers(w, 3) }, 0, 4, 5, 0},
		{"UnusedWidthStopsAtTen", func(w *width) { answers(w, 20) }, 0, 9, 10, 0},
		{"AllCallsOfTheWidthAreUsed", func(w *width) { answers(w, 20) }, 0, 10, 10, untilOneEnds},
		{"UsedWidthGrowsByManyASecond", func(w *width) { answers(w, 10); w.answer(at(0.5), slow, 5) }, 0.5, 10, 26, 0},
		{"UsedWidthGrowsByManyAtMostAfterASilence", func(w *width) { answers(w, 10); w.answer(at(5), slow, 5) }, 5, 10, 42, 0},
		{"ShortCallsLetTheWidthGrowSlowly", func(w *width) { answers(w, 10); w.answer(at(0.5), slow/4, 5) }, 0.5, 5, 14, 0},
		{"LongCallsLetTheWidthGrowNoFaster", func(w *width) { answers(w, 10); w.answer(at(0.5), 4*slow, 5) }, 0.5, 5, 26, 0},
		{"HalfUsedWidthDoesNotGrow", func(w *width) { answers(w, 10); w.answer(at(0.5), slow, 4) }, 0.5, 5, 10, 0},
		{"FailureTakesOneAway", func(w *width) { answers(w, 10); w.fail(at(0)) }, 0, 8, 9, 0},
		{"FailuresLeaveTwo", func(w *width) { w.calls, w.answered = 3, at(0); w.fail(at(0)); w.fail(at(0)) }, 1, 1, 2, 0},
		{"CallWaitsForATickAfterAFailureIfTheWidthIsSmall", func(w *width) { w.calls, w.answered = 3, at(0); w.fail(at(0)) }, 0, 1, 2, tick},
		{"ClassIsColdAfterASecondWithoutCalls", func(w *width) { answers(w, 10) }, 1.1, 0, 2, 0},
		{"ClassStaysWarmForASecond", func(w *width) { answers(w, 10) }, 1, 0, 10, 0},
		{"CallsUnderWayKeepTheClassWarmForTenSeconds", func(w *width) { answers(w, 10) }, 10, 1, 10, 0},
		{"ClassIsColdAfterTenSecondsWithoutAnAnswer", func(w *width) { answers(w, 10) }, 10.1, 1, 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var w width
			tt.do(&w)
			if waits := max(w.delay(at(tt.at), tt.running), 0); w.calls != tt.want || waits != tt.waits {
				t.Errorf("%v calls at the same time, and the next one waits for %v; want %v and %v", w.calls, waits, tt.want, tt.waits)
			}
		})
	}
}
