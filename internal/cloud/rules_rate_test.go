package cloud

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time {
	return began.Add(time.Duration(seconds * float64(time.Second)))
}

// Whenever the quota is used up, the measured quota is that of the cloud to one call,
// whatever the burst is, if the bucket has room for the first pause.
func TestMeasuredQuotaIsExactWhateverTheBurst(t *testing.T) {
	for _, perSecond := range []float64{1, 10, 100} {
		for _, burst := range []float64{2, 10, 1000} { // in seconds of the quota
			t.Run(fmt.Sprintf("%vEachSecondAndABurstOf%vSeconds", perSecond, burst), func(t *testing.T) {
				var r rate
				tokens, last := burst*perSecond, began
				for now, refused := began, 0; refused < 3; {
					tokens, last = min(tokens+now.Sub(last).Seconds()*perSecond, burst*perSecond), now
					if tokens < 1 {
						refused++
						r.usedUp(now, now, 0, 8*perSecond)
					} else {
						tokens--
						r.answer(now)
					}
					r.begin(now, 1)
					now = now.Add(max(r.delay(now), time.Millisecond))
				}
				if off := math.Abs(r.allowed-perSecond) * r.seconds; off > 1.5 || r.perSecond != belowQuota*r.allowed {
					t.Errorf("measured %.3f, %.1f calls off, rate %.3f, want %v calls a second and a rate of 0.9 of what was measured", r.allowed, off, r.perSecond, perSecond)
				}
			})
		}
	}
}

func TestRate(t *testing.T) {
	type facts struct {
		perSecond, known float64
		waits            time.Duration
		still            bool
	}
	refuse := func(r *rate, seconds float64) bool { return r.usedUp(at(seconds), at(seconds), 0, 400) }
	answers := func(r *rate, n int) { r.answers += n } // without the growth of the rate
	// measured is the rate of a quota of 10 calls a second after 10 s.
	measured := func(r *rate) {
		refuse(r, 0)
		answers(r, 100)
		refuse(r, 10)
	}
	for _, tt := range []struct {
		name string
		do   func(r *rate) (still bool)
		at   float64 // when the facts are true
		want facts
	}{
		{"NothingIsLimitedAtFirst", func(r *rate) bool { r.begin(at(0), 1); r.answer(at(0)); return false }, 0, facts{}},
		{"FirstRefusalGivesAnEighthOfTheRecentRateAfterASecond", func(r *rate) bool { return refuse(r, 0) }, 0, facts{50, 0, time.Second, false}},
		{"FirstRefusalGivesAtLeastTwentyASecond", func(r *rate) bool { return r.usedUp(at(0), at(0), 0, 8) }, 1, facts{20, 0, 0, false}},
		{"RefusalOfTheFirstCallEverIsNoMeasurement", func(r *rate) bool { return r.usedUp(at(0), at(0), 0, 0) }, 0, facts{still: true}},
		{"PauseOfAClassIsAtMostTenSeconds", func(r *rate) bool { return r.usedUp(at(0), at(0), time.Hour, 400) }, 0, facts{50, 0, 10 * time.Second, false}},
		{"CallUnderWayDoesNotLowerTheRateAgain", func(r *rate) bool { measured(r); answers(r, 1); return r.usedUp(at(10), at(11), 0, 400) }, 11, facts{9, 10, 0, false}},
		{"CallUnderWayPausesTheClass", func(r *rate) bool { refuse(r, 0); return r.usedUp(at(0), at(1), time.Minute, 400) }, 1, facts{50, 0, 10 * time.Second, false}},
		{"ShorterPauseDoesNotEndALongerOne", func(r *rate) bool { refuse(r, 0); r.pause(at(0), tick); return false }, 0, facts{50, 0, time.Second, false}},
		{"RefusalWithoutAnAnswerSinceTheLastHoldsBack", func(r *rate) bool { measured(r); return refuse(r, 11) }, 11, facts{9, 10, 0, true}},
		{"RateBeginsAtNineTenthsOfTheMeasuredQuota", func(r *rate) bool { measured(r); return false }, 10, facts{9, 10, 0, false}},
		{"RateIsAtLeastThatOfProbes", func(r *rate) bool { refuse(r, 0); answers(r, 1); return refuse(r, 1000) }, 1000, facts{minRate, 0, 0, false}},
		{"NineAnswersAreNoMeasurement", func(r *rate) bool { refuse(r, 0); answers(r, 9); return refuse(r, 1) }, 1, facts{8.1, 0, 0, false}},
		{"TenAnswersAreAMeasurement", func(r *rate) bool { refuse(r, 0); answers(r, 10); return refuse(r, 1) }, 1, facts{9, 10, 0, false}},
		{"RecentMeasurementCountsTwice", func(r *rate) bool { measured(r); r.answers = 200; return refuse(r, 20) }, 20, facts{15, 250. / 15, 0, false}},
		{"MeasurementIsRememberedForADay", func(r *rate) bool { measured(r); return false }, 10 + 24*3600, facts{0, 10, 0, false}},
		{"MeasurementIsForgottenAfterADay", func(r *rate) bool { measured(r); return false }, 11 + 24*3600, facts{}},
		{"LimitLastsAMinute", func(r *rate) bool { return refuse(r, 0) }, 60, facts{50, 0, 0, false}},
		{"LimitEndsAfterAMinuteWithoutWaitingCalls", func(r *rate) bool { return refuse(r, 0) }, 61, facts{}},
		{"CallThatWaitsKeepsTheLimit", func(r *rate) bool { refuse(r, 0); r.delay(at(0.5)); return false }, 60.5, facts{50, 0, 0, false}},
		{"UnknownRateDoublesInASecond", func(r *rate) bool { refuse(r, 0); r.answer(at(2)); return false }, 2, facts{100, 0, 0, false}},
		{"UnknownRateDoublesOnlyOnceAfterASilence", func(r *rate) bool { refuse(r, 0); r.answer(at(2)); r.answer(at(30)); return false }, 30, facts{200, 0, 0, false}},
		{"UnknownRateGrowsWithTimeOnly", func(r *rate) bool { refuse(r, 0); r.answer(at(2)); r.answer(at(2)); return false }, 2, facts{100, 0, 0, false}},
		{"UnknownRateDoesNotGrowInThePause", func(r *rate) bool { refuse(r, 0); r.answer(at(0.5)); return false }, 1, facts{50, 0, 0, false}},
		{"MeasuredRateGrowsByAPartOfTheMeasurement", func(r *rate) bool { measured(r); r.answer(at(11)); return false }, 11, facts{9 * (1 + 0.04/100), 10, 0, false}},
		{"MeasuredRateGrowsFasterLongAfterARefusal", func(r *rate) bool { measured(r); r.answers = 799; r.answer(at(11)); return false }, 11, facts{9 * (1 + 2*0.04/100), 10, 0, false}},
		{"LargeMeasurementCountsAsTwoHundred", func(r *rate) bool {
			refuse(r, 0)
			answers(r, 1000)
			refuse(r, 100)
			r.answer(at(101))
			return false
		}, 101, facts{9 * (1 + 0.04/200), 10, 0, false}},
		{"ShortHoldKeepsTheMeasurement", func(r *rate) bool {
			measured(r)
			r.pause(at(10), longestPause)
			r.resume(longestPause, at(12))
			return false
		}, 12, facts{9, 10, 0, false}},
		{"LongHoldLeavesAQuarterOfTheMeasuredRate", func(r *rate) bool { r.allowed = 1000; r.resume(time.Minute, at(0)); return false }, 0, facts{225, 0, 0, false}},
		{"LongHoldLeavesAtLeastTwentyASecond", func(r *rate) bool { measured(r); r.resume(time.Minute, at(70)); return false }, 70, facts{20, 10, 0, false}},
		{"QuotaThatFilledUpInAHoldIsMeasuredAnew", func(r *rate) bool { measured(r); r.resume(time.Second, at(15)); r.answers = 20; return refuse(r, 20) }, 20, facts{1.8, 10, 0, false}},
		{"ShortPauseBeforeTheFirstAnswerIsMeasured", func(r *rate) bool { measured(r); r.resume(time.Second, at(12)); r.answers = 100; return refuse(r, 20) }, 20, facts{9, 10, 0, false}},
		{"CallsMakeUpForThePauseOfAMeasuredClass", func(r *rate) bool {
			measured(r)
			answers(r, 100)
			r.usedUp(at(20), at(20), 2*time.Second, 400)
			for range 10 { // The rate is 9 a second, and the pause was 2 s.
				r.begin(at(22), 1)
			}
			return false
		}, 22, facts{9, 10, 0, false}},
		{"CallsAreSpacedAndATickMayBeMadeUpFor", func(r *rate) bool { refuse(r, 0); r.begin(at(5), 1); r.begin(at(5), 5); return false }, 5, facts{50, 0, 20 * time.Millisecond, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r rate
			still := tt.do(&r)
			got := facts{waits: r.delay(at(tt.at)), known: r.known(at(tt.at)), still: still}
			got.waits, got.perSecond = max(got.waits, 0), r.perSecond
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(facts{}), cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestClassHasRestedIfItIsLimitedAndNobodyHasWaitedForAMoment(t *testing.T) {
	for _, tt := range []struct {
		name string
		rate rate
		want bool
	}{
		{"NotLimited", rate{}, false},
		{"WaitedAMomentAgo", rate{perSecond: 1, waited: at(0)}, false},
		{"HasRested", rate{perSecond: 1, waited: at(-1)}, true},
	} {
		if got := tt.rate.hasRested(at(1)); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
