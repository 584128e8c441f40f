package cloud

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Which refusals say something about the whole class.
func TestRefusalsThatActOnTheClass(t *testing.T) {
	type refusal struct {
		object string
		weak   bool
		at     float64
	}
	for _, tt := range []struct {
		name     string
		limited  bool
		refusals []refusal
		want     bool // of the last one
	}{
		{"OneObject", false, []refusal{{"a", false, 0}}, false},
		{"OneObjectAgainAndAgain", false, []refusal{{"a", false, 0}, {"a", false, 1}, {"a", false, 2}}, false},
		{"OneObjectWhileCallsAreLimited", true, []refusal{{"a", false, 0}}, false},
		{"TwoObjects", false, []refusal{{"a", false, 0}, {"b", false, 10}}, true},
		{"TwoObjectsWithMoreThanTenSecondsBetween", false, []refusal{{"a", false, 0}, {"b", false, 10.1}}, false},
		{"TwoObjectsInWords", false, []refusal{{"a", true, 0}, {"b", true, 1}}, false},
		{"TwoObjectsInWordsWhileCallsAreLimited", true, []refusal{{"a", true, 0}, {"b", true, 1}}, true},
		{"ThreeObjectsInWords", false, []refusal{{"a", true, 0}, {"b", true, 1}, {"c", true, 2}}, true},
		{"EachConclusionNeedsNewRefusals", false, []refusal{{"a", false, 0}, {"b", false, 1}, {"c", false, 2}}, false},
		{"CallAboutAllObjects", false, []refusal{{"", false, 0}}, true},
		{"CallAboutAllObjectsInWords", false, []refusal{{"", true, 0}}, false},
	} {
		var f failures
		got := false
		for _, r := range tt.refusals {
			var c call
			if r.object != "" {
				c.names = []string{r.object}
			}
			got = f.refuse(c, r.weak, tt.limited, at(r.at))
		}
		if got != tt.want {
			t.Errorf("%s: acts on the class: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestOnlyTheFirstFailureOfAnObjectCounts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		do    func(f *failures)
		at    float64
		want  []bool   // whether the object "a" is known, and whether it has failed
		since []string // objects that have failed as if the cloud were down since 1
	}{
		{"Unknown", func(*failures) {}, 2, []bool{false, false}, nil},
		{"HeldBack", func(f *failures) { f.add("a", failed{last: at(2)}) }, 2, []bool{true, false}, nil},
		{"HasFailed", func(f *failures) { f.add("a", failed{at(2), at(2), hasFailed}) }, 2, []bool{true, true}, []string{"a"}},
		{"FailedBefore", func(f *failures) { f.add("a", failed{at(1), at(1), hasFailed}) }, 2, []bool{true, true}, nil},
		{"FailsAgain", func(f *failures) {
			f.add("a", failed{at(0), at(0), hasFailed})
			f.add("a", failed{at(2), at(2), hasFailed})
		}, 2, []bool{true, true}, nil},
		{"FailsForAnotherReasonLater", func(f *failures) {
			f.add("a", failed{at(2), at(2), unreadable})
			f.add("a", failed{at(3), at(3), hasFailed})
		}, 3, []bool{true, true}, nil},
		{"FailsAfterItWasHeldBack", func(f *failures) { f.add("a", failed{last: at(0)}); f.add("a", failed{at(2), at(2), hasFailed}) }, 2, []bool{true, true}, []string{"a"}},
		{"ForgottenAfterAnHour", func(f *failures) { f.add("a", failed{at(0), at(0), hasFailed}) }, 3601, []bool{false, false}, nil},
		{"TooManyObjectsAreForgottenTogether", func(f *failures) {
			for n := range maxObjects {
				f.add("a"+strings.Repeat("b", n%2)+strconv.Itoa(n), failed{first: at(0), last: at(0)})
			}
			f.add("a", failed{at(2), at(2), hasFailed})
			if len(f.objects) != 1 {
				f.objects = nil
			}
		}, 2, []bool{true, true}, []string{"a"}},
	} {
		var f failures
		tt.do(&f)
		if got := []bool{f.knows("a", at(tt.at)), f.hasFailed("a", at(tt.at))}; !slices.Equal(got, tt.want) {
			t.Errorf("%s: known and failed %v, want %v", tt.name, got, tt.want)
		}
		if diff := cmp.Diff(tt.since, f.since(at(1), hasFailed)); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestTenantWaitsAfterItsRefusals(t *testing.T) {
	refuse := func(f *failures, times int) {
		for n := range times {
			f.pause("a", 0, at(float64(n-times+1)))
		}
	}
	for _, tt := range []struct {
		name string
		do   func(f *failures)
		at   float64
		want float64 // seconds
	}{
		{"NeverRefused", func(*failures) {}, 0, 0},
		{"Refused", func(f *failures) { refuse(f, 1) }, 0, 1},
		{"AnotherTenantIsRefused", func(f *failures) { f.pause("b", 0, at(0)) }, 0, 0},
		{"RefusedThreeTimes", func(f *failures) { refuse(f, 3) }, 0, 4},
		{"RefusedTogether", func(f *failures) { refuse(f, 1); f.pause("a", 0, at(0.5)) }, 0.5, 1},
		{"RefusedOften", func(f *failures) { refuse(f, 20) }, 0, 8},
		{"CloudNamesThePause", func(f *failures) { f.pause("a", 5*time.Second, at(0)) }, 0, 5},
		{"CloudNamesALongPause", func(f *failures) { f.pause("a", time.Hour, at(0)) }, 0, 10},
		{"AnswerToAnEarlierCallEndsNoPause", func(f *failures) { refuse(f, 1); f.answer("a", at(0.5)) }, 0.5, 0.5},
		{"AnswerMakesUpForARefusal", func(f *failures) { refuse(f, 3); f.answer("a", at(5)); f.pause("a", 0, at(6)) }, 6, 4},
		{"AfterThePause", func(f *failures) { refuse(f, 1) }, 1, 0},
		{"TogetherWithAnotherCallAfterThePause", func(f *failures) { refuse(f, 1); f.turn("a", 1, at(1)) }, 1, 0.25},
		{"AfterAnotherCall", func(f *failures) { refuse(f, 1); f.turn("a", 1, at(1)) }, 1.25, 0},
		{"TogetherAMinuteLater", func(f *failures) { refuse(f, 1); f.turn("a", 1, at(60)) }, 60, 0},
		{"CallsThatWaitAreSpread", func(f *failures) {
			refuse(f, 1)
			for range 4 {
				f.turn("a", 1, at(0))
			}
		}, 0, 1 + 4*0.25},
		{"AnObjectOfACallAboutManyTakesNoTurn", func(f *failures) { refuse(f, 1); f.wait("a", at(1)) }, 1, 0},
		{"FasterWithEachAnswer", func(f *failures) {
			refuse(f, 1)
			for range 1 + few {
				f.answer("a", at(1))
			}
			f.turn("a", 1, at(1))
		}, 1, 0.125},
		{"SlowAgainAfterARefusal", func(f *failures) {
			refuse(f, 1)
			for range 1 + 6 {
				f.answer("a", at(1))
			}
			f.pause("a", 0, at(2))
			f.turn("a", 1, at(3))
		}, 3, 0.25},
		{"RefusedAgainAfterAnAnswerAMinuteLater", func(f *failures) { refuse(f, 9); f.answer("a", at(60)); f.pause("a", 0, at(61)) }, 61, 1},
		{"TooManyTenantsAreForgottenTogether", func(f *failures) {
			refuse(f, 1)
			for n := range maxObjects {
				f.pause(strconv.Itoa(n), 0, at(0))
			}
		}, 0, 0},
	} {
		var f failures
		tt.do(&f)
		if got := max(f.turn("a", 1, at(tt.at)), 0).Seconds(); got != tt.want {
			t.Errorf("%s: waits %v s, want %v s", tt.name, got, tt.want)
		}
	}
}
