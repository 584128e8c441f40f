package cloud

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// The share of comparisons is 15 % of the smallest quota that is known.
func TestShareOfTheQuota(t *testing.T) {
	for _, tt := range []struct {
		name                      string
		measured, ceiling, budget float64
		want                      float64
	}{
		{"NothingIsKnown", 0, 0, 0, 0},
		{"OnlyMeasured", 100, 0, 0, 15},
		{"OnlyTheCeiling", 0, 20, 0, 3},
		{"OnlyTheBudget", 0, 0, 10, 1.5},
		{"MeasuredIsTheSmallest", 10, 20, 30, 1.5},
		{"CeilingIsTheSmallest", 100, 20, 30, 3},
		{"BudgetIsTheSmallest", 100, 20, 10, 1.5},
	} {
		l := limiter{ceiling: ceiling{Ceiling: Ceiling{PerSecond: tt.ceiling}}, share: share{budget: tt.budget}}
		l.classes = []*class{{key: classKey{kind: instanceCalls, region: "r"}, rate: rate{quota: tt.measured, learned: at(0)}}}
		if got := l.shareOf(instanceCalls, at(0)); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v calls a second, want %v", tt.name, got, tt.want)
		}
	}
}

func TestNextCallOfTheShare(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(s *share)
		want float64 // seconds
	}{
		{"CallUsesItsShare", func(s *share) { s.begin(at(0), 0.5) }, 2},
		{"CallsAddUp", func(s *share) { s.begin(at(0), 0.5); s.begin(at(0), 0.5) }, 4},
		{"UnusedShareIsNotSavedUp", func(s *share) { s.begin(at(0), 0.5); s.begin(at(10), 0.5) }, 12},
		{"FreeAnswerIsRefunded", func(s *share) { s.begin(at(0), 0.5); s.begin(at(0), 0.5); s.refund(0.5) }, 2},
		{"UnknownQuotaCostsNothing", func(s *share) { s.begin(at(0), 0); s.refund(0) }, 0},
	} {
		var s share
		if tt.do(&s); !s.next.Equal(at(tt.want)) {
			t.Errorf("%s: next call at %v, want %v s", tt.name, s.next.Sub(at(0)), tt.want)
		}
	}
}

// Comparisons keep to their share of the quota, and wait while others wait for the quota.
// The budget allows a comparison every 2 s.
func TestComparisonsWait(t *testing.T) {
	const budget = 0.5 / background
	refresh := func(t *testing.T, g *Gateway, n int) {
		t.Helper()
		for range n {
			if err := g.Instances().AwaitRefresh(t.Context()); err != nil {
				t.Error(err)
			}
			g.Instances().Refresh(t.Context(), []*corev1.Node{node("a")})
		}
	}
	// others lets calls of this priority wait for the quota of load balancers.
	others := func(g *Gateway, p priority, perSecond float64) {
		c := &class{key: classKey{kind: loadBalancerCalls}, rate: rate{perSecond: perSecond, next: time.Now().Add(time.Hour), waited: time.Now()}}
		c.turns.add(waiting(p))
		g.limiter.classes = append(g.limiter.classes, c)
	}
	for _, tt := range []struct {
		name   string
		budget float64
		took   time.Duration // by a call
		do     func(t *testing.T, g *Gateway)
		want   time.Duration
		by     LimitedBy
	}{
		{"KnowingNoQuotaNobodyWaits", 0, slow, func(t *testing.T, g *Gateway) { refresh(t, g, 10) }, 10 * slow, Unlimited},
		{"CallsKeepToTheShare", budget, slow, func(t *testing.T, g *Gateway) { refresh(t, g, 10) }, 18*time.Second + slow, ShareLimits},
		{"FreeAnswersKeepToNothing", budget, 0, func(t *testing.T, g *Gateway) { refresh(t, g, 10) }, 0, Unlimited},
		{"OthersThatWaitForTheQuotaGoFirstForAMinute", 0, 0, func(t *testing.T, g *Gateway) { others(g, lowPriority, 1); refresh(t, g, 1) }, lately, Unlimited},
		{"OtherComparisonsDoNotGoFirst", 0, 0, func(t *testing.T, g *Gateway) { others(g, refreshPriority, 1); refresh(t, g, 1) }, 0, Unlimited},
		{"OthersWithoutALimitDoNotGoFirst", 0, 0, func(t *testing.T, g *Gateway) { others(g, highPriority, 0); refresh(t, g, 1) }, 0, Unlimited},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gateway(t, vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
					time.Sleep(tt.took)
					return &cloudprovider.InstanceMetadata{}, nil
				})}, Config{Budget: tt.budget})
				start := time.Now()
				tt.do(t, g)
				if took := time.Since(start); took.Round(time.Millisecond) != tt.want || g.Limit().By != tt.by {
					t.Errorf("took %v, limited by %q, want %v and %q", took, g.Limit().By, tt.want, tt.by)
				}
			})
		})
	}
}

func TestComparisonThatIsCanceledDoesNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway(t, vendor{v2: metadata(nothing)}, Config{Budget: 1})
		g.limiter.share.next = time.Now().Add(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := g.Instances().AwaitRefresh(ctx); err == nil {
			t.Error("no error, want that of the context")
		}
	})
}

// Comparisons keep to a part of the quota, also if the quota was measured for Nodes that
// had no region yet.
func TestComparisonsKeepToTheirShare(t *testing.T) {
	for name, tt := range map[string]struct {
		measured float64 // the quota that the cloud has while Nodes are initialised; 0: none
		cfg      Config
		every    time.Duration // between two questions of a comparison
	}{
		"UnknownQuota":  {every: 0},
		"Measured":      {measured: 1, every: 6600 * time.Millisecond},
		"Budget":        {cfg: Config{Budget: 10}, every: 660 * time.Millisecond},
		"Ceiling":       {cfg: Config{Ceiling: Ceiling{PerSecond: 10}}, every: 660 * time.Millisecond},
		"SmallestOfAll": {measured: 1, cfg: Config{Budget: 10}, every: 6600 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &quota{rate: 1000, burst: 1000, tokens: 1000, last: time.Now()}
				if tt.measured > 0 {
					q = bucket(tt.measured, 60, 0)
				}
				g := gateway(t, limited(q, q, httpError(429)).vendor(), tt.cfg)
				if tt.measured > 0 {
					joinPatiently(t, g, 100)
				}
				time.Sleep(time.Hour)
				old := node("old")
				old.Labels = map[string]string{corev1.LabelTopologyRegion: "r"}
				refresh := func() {
					if err := g.Instances().AwaitRefresh(t.Context()); err != nil {
						t.Fatal(err)
					}
					g.Instances().Refresh(t.Context(), []*corev1.Node{old})
				}
				refresh()
				start := time.Now()
				const questions = 20
				for range questions {
					refresh()
				}
				if each := time.Since(start) / questions; each < tt.every || each > tt.every*11/10+100*time.Millisecond {
					t.Errorf("a question each %v, want each %v", each, tt.every)
				}
				if waits := g.Limit().By == ShareLimits; waits != (tt.every > 0) {
					t.Errorf("limit %q after %v", g.Limit(), time.Since(start))
				}
			})
		})
	}
}
