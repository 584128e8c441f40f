package service

import (
	"slices"
	"testing"
	"time"
)

// Each row has the times in seconds at which Nodes change, and the times at which a new
// set is made.
func TestPause(t *testing.T) {
	for _, tt := range []struct {
		name    string
		changes []float64
		made    []float64
	}{
		{"NodeThatJoinsAloneDoesNotWait", []float64{0}, []float64{0}},
		{"NodesThatJoinFarApartDoNotWait", []float64{0, 5, 11}, []float64{0, 5, 11}},
		{"SecondOneWaitsForASecond", []float64{0, 0.5}, []float64{0, 1.5}},
		{"SecondOneWaitsAlsoSomeTimeLater", []float64{0, 4.5}, []float64{0, 5.5}},
		{"AllThatComeInTheMeantimeAreOneSet", []float64{0, 0.1, 0.5, 1, 1.9, 2.5}, []float64{0, 3.5}},
		{"PauseGrowsWhileMoreKeepComing", []float64{0, 1, 3, 6}, []float64{0, 2, 5, 10}},
		{"NodesThatKeepComingWaitForFiveSecondsAtMost", []float64{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.4, 6}, []float64{0, 5.5, 8}},
		{"PauseIsBounded", []float64{0, 1, 3, 6, 11, 16.5}, []float64{0, 2, 5, 10, 15, 20.5}},
		{"AfterFiveSecondsWithoutASetThePauseIsOver", []float64{0, 1, 3, 6, 15}, []float64{0, 2, 5, 10, 15}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := func(seconds float64) time.Time {
				return noon.Add(time.Duration(seconds * float64(time.Second)))
			}
			var p pause
			var made []float64
			for rest := tt.changes; len(rest) > 0; {
				first := at(rest[0])
				last, now, quiet := first, first, p.next(first)
				for rest = rest[1:]; len(rest) > 0 && at(rest[0]).Before(now.Add(left(quiet, first, last, now))); rest = rest[1:] {
					last, now = at(rest[0]), at(rest[0])
				}
				now = now.Add(left(quiet, first, last, now))
				made = append(made, now.Sub(noon).Seconds())
				p = pause{now, quiet}
			}
			if !slices.Equal(made, tt.made) {
				t.Errorf("sets at %v, want %v", made, tt.made)
			}
		})
	}
}
