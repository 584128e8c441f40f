package cloud

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
)

func TestLimitInWords(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit Limit
		want  string
	}{
		{"Nothing", Limit{}, ""},
		{"UnknownQuota", Limit{By: QuotaLimits, Calls: "routes", For: 12345 * time.Millisecond}, "calls (routes) have waited for the request quota of the cloud for 12s"},
		{"KnownQuota", Limit{By: QuotaLimits, Calls: "routes", For: time.Minute, PerSecond: 9.87}, "calls (routes) have waited for the request quota of the cloud for 1m0s, which seems to be 9.9 calls a second"},
		{"CallsThatWait", Limit{By: QuotaLimits, Calls: "routes", For: time.Minute, Waiting: 3}, "calls (routes) have waited for the request quota of the cloud for 1m0s; 3 wait now"},
		{"CallsThatWaitUntil", Limit{By: CeilingLimits, Calls: "routes", For: time.Minute, Waiting: 3, Until: at(90)}, "calls (routes) have waited for the bounds in --cloud-api-qps and --cloud-api-concurrency for 1m0s; 3 wait now, the next until 00:01:30"},
		{"Share", Limit{By: ShareLimits, PerSecond: 1.5}, "comparisons of all nodes take longer than their period: nobody waits for them, so they make at most 1.5 calls a second, a part of the request quota"},
	} {
		if diff := cmp.Diff(tt.want, tt.limit.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestWaits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		waits []float64 // when calls waited
		at    float64
		want  Limit
	}{
		{"NobodyWaited", nil, 0, Limit{}},
		{"ShortWaitsAreNoLimit", []float64{0, 9}, 9, Limit{}},
		{"WaitsOfTenSecondsAreALimit", []float64{0, 10}, 10, Limit{By: QuotaLimits, For: 10 * time.Second}},
		{"LimitLastsAMinute", []float64{0, 10}, 70, Limit{By: QuotaLimits, For: 70 * time.Second}},
		{"LimitEndsAfterAMinute", []float64{0, 10}, 71, Limit{}},
		{"WaitsBeginAnewAfterAMinute", []float64{0, 10, 71, 81}, 81, Limit{By: QuotaLimits, For: 10 * time.Second}},
	} {
		var w waits
		for _, seconds := range tt.waits {
			w.add(QuotaLimits, at(seconds))
		}
		if diff := cmp.Diff(tt.want, w.limit(at(tt.at))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

// Limit shows what calls have waited for longest, and comparisons only if nothing else
// waits.
func TestLongestLimitIsShown(t *testing.T) {
	for _, tt := range []struct {
		name    string
		classes map[string]waits
		share   waits
		want    LimitedBy
		calls   string
	}{
		{"Nothing", nil, waits{}, Unlimited, ""},
		{"Longest", map[string]waits{"a": {by: CeilingLimits, since: at(0), last: at(90)}, "b": {by: QuotaLimits, since: at(20), last: at(90)}}, waits{}, CeilingLimits, "a"},
		{"ComparisonsLast", map[string]waits{"b": {by: QuotaLimits, since: at(20), last: at(90)}}, waits{by: ShareLimits, since: at(0), last: at(90)}, QuotaLimits, "b"},
		{"ComparisonsAlone", nil, waits{by: ShareLimits, since: at(0), last: at(90)}, ShareLimits, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(at(100)))
			g := &Gateway{}
			for kind, waits := range tt.classes {
				g.limiter.classes = append(g.limiter.classes, &class{key: classKey{kind: kind}, waits: waits})
			}
			g.limiter.share.waits = tt.share
			if got := g.Limit(); got.By != tt.want || got.Calls != tt.calls {
				t.Errorf("%s: limited by %q, calls %q, want %q and %q", tt.name, got.By, got.Calls, tt.want, tt.calls)
			}
		})
	}
}

// The metric of the rate and the state of a class that is limited, and of one whose calls
// are held back.
func TestLimitsAreShown(t *testing.T) {
	for _, tt := range []struct {
		name   string
		ends   []error
		metric string
		state  string
	}{
		{"Limited", []error{nil, &Error{Kind: Throttled, Evidence: Typed}}, `{calls="list of routes"} 125`, ""},
		{"HeldBack", []error{&Error{Kind: Throttled, Evidence: Typed}}, `{calls="list of routes"} 0`, "does not answer calls (list of routes, Throttled for 0s), which are made one at a time"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var shown metrics.Registerable
			m := NewMetrics(func(all ...metrics.Registerable) { shown = all[3] })
			registry := metrics.NewKubeRegistry()
			registry.MustRegister(shown)
			g := gateway(t, vendor{}, Config{Metrics: m})
			for _, err := range tt.ends {
				started := time.Now()
				time.Sleep(8 * time.Millisecond)
				g.adapt(t.Context(), call{method: "ListRoutes"}, started, err)
			}
			const name = "fairlead_cloud_pace_calls_per_second"
			want := "# HELP " + name + " [ALPHA] Rate limit of calls to the cloud provider while the cloud's request quota is used up or seems to be, by the kind of calls; 0 means no limit\n# TYPE " + name + " gauge\n" + name + tt.metric + "\n"
			if err := testutil.GatherAndCompare(registry, strings.NewReader(want), name); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			if got := g.limiter.held(); got != tt.state {
				t.Errorf("%s: state %q, want %q", tt.name, got, tt.state)
			}
		})
	}
}
