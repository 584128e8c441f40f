package cloud

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// busy is a cloud that takes a second for each call, and counts the calls.
type busy struct {
	mu                    sync.Mutex
	calls, underWay, most int
}

func (b *busy) vendor() vendor {
	return vendor{v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
		b.add(1)
		time.Sleep(time.Second)
		b.add(-1)
		return &cloudprovider.InstanceMetadata{}, nil
	})}
}

func (b *busy) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.underWay += n
	b.calls += max(n, 0)
	b.most = max(b.most, b.underWay)
}

func TestCallsStayBelowTheCeiling(t *testing.T) {
	for _, tt := range []struct {
		name        string
		ceiling     Ceiling
		calls, most int           // upper bounds: calls in the first 20 seconds, and calls at the same time
		took        time.Duration // lower bound of the time for 100 calls
		limited     LimitedBy
	}{
		{"None", Ceiling{}, 100, 100, 0, Unlimited},
		{"PerSecond", Ceiling{PerSecond: 2}, 43, 100, 49 * time.Second, CeilingLimits},
		{"LessThanOnePerSecond", Ceiling{PerSecond: 0.5}, 12, 100, 198 * time.Second, CeilingLimits},
		{"Burst", Ceiling{PerSecond: 2, Burst: 30}, 71, 100, 35 * time.Second, CeilingLimits},
		{"Concurrency", Ceiling{Concurrency: 2}, 42, 2, 50 * time.Second, CeilingLimits},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b busy
				g := gateway(t, b.vendor(), Config{Ceiling: tt.ceiling, CallerTimeout: time.Hour})
				start := time.Now()
				time.AfterFunc(20*time.Second, func() {
					b.mu.Lock()
					defer b.mu.Unlock()
					if b.calls > tt.calls {
						t.Errorf("%d calls in 20 s, want at most %d", b.calls, tt.calls)
					}
					limit := g.Limit()
					if limit.By != tt.limited || strings.Contains(g.State(), "--cloud-api-qps") != (tt.limited == CeilingLimits) {
						t.Errorf("limited by %q, want %q; state: %s", limit.By, tt.limited, g.State())
					}
				})
				var all sync.WaitGroup
				for n := range 100 {
					all.Go(func() { _, _ = g.Instances().Metadata(t.Context(), node(strconv.Itoa(n))) })
				}
				all.Wait()
				if took := time.Since(start); took < tt.took || b.most > tt.most {
					t.Errorf("took %v with %d calls at the same time, want at least %v and at most %d", took, b.most, tt.took, tt.most)
				}
				time.Sleep(max(lately+time.Second, 21*time.Second))
				if limit := g.Limit(); limit.By != Unlimited {
					t.Errorf("still limited by %q a minute later", limit.By)
				}
			})
		})
	}
}

// While calls wait for the quota, Limit names the quota. It names no bound once calls
// have not waited for lately.
func TestLimitByTheQuotaIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &quota{rate: 10, burst: 20, tokens: 20, last: time.Now()}
		g := gateway(t, limited(q, q, httpError(429)).vendor(), Config{})
		var seen []Limit
		time.AfterFunc(30*time.Second, func() { seen = append(seen, g.Limit()) })
		storm{500, 16, func(n int) error { return askAbout(t.Context(), g, n) }}.run()
		if len(seen) != 1 || seen[0].By != QuotaLimits || seen[0].PerSecond < 5 || seen[0].PerSecond > 15 {
			t.Errorf("limits %v, want one by the quota of 10 calls a second", seen)
		}
		time.Sleep(lately + time.Second)
		if limit := g.Limit(); limit.By != Unlimited {
			t.Errorf("still limited by %q a minute later", limit.By)
		}
	})
}
