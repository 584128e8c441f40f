package cloud

import (
	"strconv"
	"testing"
	"time"
)

// The class of a call is its kind and its region.
func TestClasses(t *testing.T) {
	fill := func(l *limiter) {
		for n := range maxClasses {
			l.classOf(call{method: "InstanceExists", region: strconv.Itoa(n)}, at(0)).used = at(0)
		}
	}
	for _, tt := range []struct {
		name   string
		before func(l *limiter)
		call   call
		at     float64
		want   string
	}{
		{"Region", func(*limiter) {}, call{method: "InstanceExists", region: "r"}, 0, "existence in r"},
		{"NoRegion", func(*limiter) {}, call{method: "InstanceExists"}, 0, "existence"},
		{"OlderMethod", func(*limiter) {}, call{method: "InstanceShutdownByProviderID"}, 0, "shutdown"},
		{"AnyOtherMethod", func(*limiter) {}, call{method: "Offers"}, 0, "instances"},
		{"Termination", func(*limiter) {}, call{method: "InstanceTermination"}, 0, "terminations"},
		{"Watch", func(*limiter) {}, call{method: "WatchInstances"}, 0, "watch of instances"},
		{"List", func(*limiter) {}, call{method: "ListInstances"}, 0, "list of instances"},
		{"Volume", func(*limiter) {}, call{method: "GetLabelsForVolume"}, 0, "volumes"},
		{"ManyRoutes", func(*limiter) {}, call{method: "ApplyRoutes"}, 0, "routes"},
		{"KnownRegionOfAFullLimiter", fill, call{method: "InstanceExists", region: "5"}, 0, "existence in 5"},
		{"NewRegionOfAFullLimiter", fill, call{method: "InstanceExists", region: "r"}, 3600, "existence"},
		{"NewRegionWhenOthersAreForgotten", fill, call{method: "InstanceExists", region: "r"}, 3601, "existence in r"},
		{"RegionWithACallUnderWayIsNotForgotten", func(l *limiter) {
			fill(l)
			for _, c := range l.classes {
				c.underWay = 1
			}
		}, call{method: "InstanceExists", region: "r"}, 3601, "existence"},
		{"RegionWithACallThatWaitsIsNotForgotten", func(l *limiter) {
			fill(l)
			for _, c := range l.classes {
				c.turns.add(waiting(refreshPriority))
			}
		}, call{method: "InstanceExists", region: "r"}, 3601, "existence"},
		{"NewRegionWhileCallsAreHeldBack", func(l *limiter) {
			l.classOf(call{method: "ListRoutes"}, at(0)).hold.opened = at(0)
		}, call{method: "InstanceExists", region: "r"}, 0, "existence"},
		{"NewKindWhileCallsAreHeldBack", func(l *limiter) {
			l.classOf(call{method: "ListRoutes"}, at(0)).hold.opened = at(0)
		}, call{method: "CreateRoute"}, 0, "routes"},
	} {
		var l limiter
		tt.before(&l)
		if got := l.classOf(tt.call, at(tt.at)).key.String(); got != tt.want {
			t.Errorf("%s: class %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Errors that nobody can read are made again slowly, one at a time. Three in a row show
// that the quota is not their reason.
func TestObjectsThatFailAgainAreNotTheQuota(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit float64
		calls [][2]float64 // when calls that failed again began and ended
		want  string
	}{
		{"NotLimited", 0, [][2]float64{{0, 1}, {1, 2}, {2, 3}}, "0 a second"},
		{"TwoFailures", 50, [][2]float64{{0, 1}, {1.5, 2}}, "50 a second, next after 900ms"},
		{"ThreeFailuresInARow", 50, [][2]float64{{0, 1}, {1.5, 2}, {2.5, 3}}, "0 a second, refuted"},
		{"CallsAtTheSameTimeCountOnce", 50, [][2]float64{{0, 1}, {0.5, 2}, {0.6, 3}}, "50 a second"},
		{"NextLimitNeedsThreeMore", 50, [][2]float64{{0, 1}, {1.5, 2}, {2.5, 3}, {3.5, 4}}, "50 a second, next after 900ms, refuted"},
	} {
		c := class{rate: rate{perSecond: tt.limit}}
		var now time.Time
		for n, times := range tt.calls {
			if n == few {
				c.rate.perSecond = tt.limit
			}
			now = at(times[1])
			c.failsAgain(at(times[0]), now)
		}
		got := strconv.Itoa(int(c.rate.perSecond)) + " a second"
		if pause := c.rate.paused.Sub(now); pause > 0 {
			got += ", next after " + pause.String()
		}
		if !c.refuted.IsZero() {
			got += ", refuted"
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
