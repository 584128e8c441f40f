package cloud

import (
	"slices"
	"strconv"
	"strings"
	"testing"

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
