package cloud

import (
	"testing"
	"time"
)

// In each row, each letter is the outcome of a call for the object of that name.
// A small letter is a failure, and a capital letter is a success.
func TestSuspicion(t *testing.T) {
	for _, tt := range []struct {
		name, outcomes string
		want           verdict // the verdict after the last outcome
	}{
		{"FourObjectsAreTooFew", "Zabcd", noVerdict},
		{"FiveObjectsAreSuspect", "Zabcde", suspect},
		{"TwoObjectsAreTooFewAlthoughNothingSucceeds", "ab", noVerdict},
		{"ThreeObjectsAreSuspectIfNothingSucceeds", "abc", suspect},
		{"OneObjectIsNotSuspect", "aaaaaa", noVerdict},
		{"TheyWorkWhenCallsAreSlower", "ZabcdeABC", confirm},
		{"TheyFailAndOthersWork", "ZabcdeWXYabc", refute},
		{"TheyFailAndAnotherOneFailsToo", "ZabcdeWXYvabc", noVerdict},
		{"TheyFailAndManyOthersToo", "ZabcdeWvxabc", slower},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s suspicion
			var got verdict
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for _, letter := range tt.outcomes {
				at = at.Add(10 * time.Millisecond)
				o := outcome{object: string(letter | 0x20), started: at.Add(-time.Millisecond), ended: at, failed: letter >= 'a'}
				got = s.observe(o)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
