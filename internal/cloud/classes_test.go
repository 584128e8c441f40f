package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

// later is the answer of a cloud that names the time after which to try again.
type later struct {
	httpError

	after time.Duration
}

func (l later) RetryAfter() time.Duration { return l.after }

// beside runs f beside the rest of a test. The returned function ends f, and waits until
// no call is under way any more.
func beside(t *testing.T, f func(ctx context.Context)) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { f(ctx) })
	return func() {
		cancel()
		running.Wait()
		time.Sleep(time.Minute) // By then, calls that no caller waits for have returned.
	}
}

// insist makes a call until it succeeds, with growing pauses, as a controller does for
// one object.
func insist(ctx context.Context, longest time.Duration, call func() error) {
	for pause := time.Second; call() != nil && sleep.For(ctx, pause); pause = min(2*pause, longest) {
	}
}

// forever makes one call after the other. Each call is about another object.
func forever(ctx context.Context, workers int, call func(n int) error) {
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for n := worker; ctx.Err() == nil; n += workers {
				if err := call(n); err != nil {
					sleep.For(ctx, max(HeldFor(err), 500*time.Millisecond))
				}
			}
		})
	}
	all.Wait()
}

// givesUp returns a call that ends the work after half an hour.
func givesUp(call func(n int) error) func(n int) error {
	start := time.Now()
	return func(n int) error {
		if time.Since(start) > 30*time.Minute {
			return nil
		}
		return call(n)
	}
}

// join asks about Nodes that join at the same time. events is the number of Nodes that
// show a failure.
func join(t *testing.T, g *Gateway, nodes int) (took time.Duration, events int) {
	t.Helper()
	return storm{nodes, 16, givesUp(func(n int) error { return askAbout(t.Context(), g, n) })}.run()
}

// others makes the calls for objects that nothing is wrong with: Nodes first, and then
// ten Services of ten tenants.
func others(t *testing.T, g *Gateway, nodes int) (took, balancers time.Duration, events int) {
	t.Helper()
	took, events = join(t, g, nodes)
	return took, balance(t, g, 10), events
}

// balance makes the calls for load balancers of ten tenants, one at a time.
func balance(t *testing.T, g *Gateway, balancers int) (took time.Duration) {
	t.Helper()
	w := services(t.Context(), g, balancers, inNamespaces)
	w.call = givesUp(w.call)
	return do(w)[w.method]
}

// The failures of one Service delay no other object, even if the cloud says that its
// quota is used up or that it is down.
func TestServiceThatFailsHoldsNobody(t *testing.T) {
	const minutes = 5 * time.Minute
	for _, tt := range []struct {
		name  string
		err   error
		nodes int
		most  time.Duration // for the Nodes; 0: as long as without the failures
	}{
		{"QuotaIsUsedUp", httpError(429), 1000, 3 * time.Second},
		{"QuotaIsUsedUpForMinutes", later{429, minutes}, 1000, 3 * time.Second},
		{"QuotaIsUsedUpAsText", errors.New("the request was refused: too many requests"), 1000, 3 * time.Second},
		{"Unreadable", errors.New("E1234"), 1000, 3 * time.Second},
		{"UnavailableForMinutes", later{503, 2 * time.Minute}, 100, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodesWithout, without, _ := others(t, gateway(t, newOutage(func(made) error { return nil }).vendor(), Config{}), tt.nodes)
				o := newOutage(func(m made) error {
					if strings.HasPrefix(m.object, "evil/") {
						return tt.err
					}
					return nil
				})
				g := gateway(t, o.vendor(), Config{})
				defer beside(t, func(ctx context.Context) {
					insist(ctx, minutes, func() error { return services(ctx, g, 1, func(int) string { return "evil" }).call(0) })
				})()
				for _, pause := range []time.Duration{time.Second, 2 * time.Minute} {
					time.Sleep(pause)
					took, balancers, events := others(t, g, tt.nodes)
					t.Logf("%d Nodes took %v, with %d failures; ten load balancers of others took %v, and %v without the fault", tt.nodes, took, events, balancers, without)
					if most := cmp.Or(tt.most, nodesWithout*11/10); took > most || events > 0 {
						t.Errorf("%d Nodes took %v and %d showed a failure because of one Service, want at most %v and none", tt.nodes, took, events, most)
					}
					if balancers > without+100*time.Millisecond {
						t.Errorf("ten load balancers of other tenants took %v because of one Service, want %v as without it", balancers, without)
					}
				}
			})
		})
	}
}

// limited returns a cloud with one quota for questions about Nodes and one for changes of
// load balancers.
func limited(reads, changes *quota, refused error) *outage {
	return newOutage(func(m made) error {
		q := reads
		if m.method == "EnsureLoadBalancer" {
			q = changes
		}
		if !q.take() {
			return refused
		}
		return nil
	})
}

// bucket returns a quota that allows this number of calls at once.
func bucket(rate, burst, tokens float64) *quota {
	return &quota{rate: rate, burst: burst, tokens: tokens, last: time.Now()}
}

// If the cloud refuses changes of load balancers, Nodes are not delayed.
func TestLoadBalancersThatWaitForTheirQuotaHoldNoNode(t *testing.T) {
	for _, n := range []int{0, 20, 100} {
		t.Run(strconv.Itoa(n)+"Services", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reads, changes := bucket(100, 200, 200), bucket(0.5, 5, 5)
				g := gateway(t, limited(reads, changes, httpError(429)).vendor(), Config{})
				start := time.Now()
				var waiting sync.WaitGroup
				waiting.Go(func() { balance(t, g, n) })
				time.Sleep(10 * time.Second)
				took, events := join(t, g, 1000)
				waiting.Wait()
				t.Logf("1,000 Nodes took %v, %d refused, %d failures; all was done after %v, %d changes refused", took, reads.throttled, events, time.Since(start), changes.throttled)
				if took > 9800*time.Millisecond || events > 0 {
					t.Errorf("1,000 Nodes took %v and %d showed a failure beside %d Services whose own quota is used up, want at most 9.8 s and none", took, events, n)
				}
			})
		})
	}
}

// The buckets of EC2: changes have one of 5 calls a second, each kind of question has its
// own. Whatever waits for one of them does not wait for the other.
func TestEachClassWaitsForItsOwnQuotaOnly(t *testing.T) {
	const balancers = 200
	for _, tt := range []struct {
		name        string
		rate, burst float64 // of questions about Nodes
		nodes       int     // as many as the bucket allows in about a minute
	}{
		{"QuestionsOneASecond", 1, 1, 60},
		{"QuestionsTenASecond", 10, 50, 600},
	} {
		cloud := func(t *testing.T) (*outage, *Gateway) {
			o := limited(bucket(tt.rate, tt.burst, tt.burst), bucket(5, 50, 50), httpError(429))
			o.took = 200 * time.Millisecond
			return o, gateway(t, o.vendor(), Config{})
		}
		t.Run("LoadBalancersBeside"+tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o, g := cloud(t)
				defer beside(t, func(ctx context.Context) { forever(ctx, 8, func(n int) error { return askAbout(ctx, g, n) }) })()
				time.Sleep(2 * time.Minute)
				took := balance(t, g, balancers)
				t.Logf("%d load balancers took %v beside %d questions about Nodes", balancers, took, o.count(func(m made) bool { return m.method == "InstanceMetadata" }))
				if took > 44*time.Second {
					t.Errorf("%d load balancers took %v while questions about Nodes waited for another quota, want at most 44 s (alone 40 s)", balancers, took)
				}
			})
		})
		t.Run(tt.name+"BesideLoadBalancers", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, alone := cloud(t)
				without, _ := joinPatiently(t, alone, tt.nodes)
				o, g := cloud(t)
				defer beside(t, func(ctx context.Context) { forever(ctx, 4, services(ctx, g, balancers, inNamespaces).call) })()
				time.Sleep(time.Minute)
				took, s := joinPatiently(t, g, tt.nodes)
				t.Logf("%d Nodes took %v, alone %v; errors: %v; %d changes of load balancers", tt.nodes, took, without, s.kinds, o.count(func(m made) bool { return m.method != "InstanceMetadata" }))
				if took > without*11/10 {
					t.Errorf("%d Nodes took %v while changes of load balancers waited for another quota, want at most 1.1 times %v", tt.nodes, took, without)
				}
			})
		})
	}
}

// However many Nodes fail for their own reasons, others are delayed by a few seconds at
// most.
func TestNodesWithErrorsOfTheirOwnSlowNobodyDown(t *testing.T) {
	for _, tt := range []struct {
		bad int
		err error
	}{{1, errors.New("E1234")}, {2, errors.New("throttled")}, {5, errors.New("E1234")}, {20, errors.New("E1234")}} {
		t.Run(fmt.Sprintf("%d/%v", tt.bad, tt.err), func(t *testing.T) {
			failing(t, func(m made) bool { return strings.HasPrefix(m.object, "bad-") }, tt.err, func(ctx context.Context, g *Gateway) {
				ask := func(n int) error {
					_, err := g.Instances().Metadata(ctx, node("bad-"+strconv.Itoa(n%tt.bad)))
					return err
				}
				forever(ctx, tt.bad, ask)
			}, 5*time.Second)
		})
	}
}

// A tenant with several namespaces does not delay Nodes, whatever the errors of its
// Services look like.
func TestTenantWithThreeNamespacesDelaysNoNode(t *testing.T) {
	for name, err := range map[string]error{
		"QuotaIsUsedUp":           httpError(429),
		"QuotaIsUsedUpForAMinute": later{429, time.Minute},
		"Unavailable":             httpError(503),
		"Unreadable":              errors.New("E1234"),
	} {
		t.Run(name, func(t *testing.T) {
			failing(t, func(m made) bool { return m.method == "EnsureLoadBalancer" }, err, func(ctx context.Context, g *Gateway) {
				var all sync.WaitGroup
				call := services(ctx, g, 15, func(n int) string { return "evil-" + strconv.Itoa(n%3) }).call
				for n := range 15 {
					all.Go(func() { insist(ctx, time.Minute, func() error { return call(n) }) })
				}
				all.Wait()
			}, 100*time.Millisecond)
		})
	}
}

// failing tests that 500 Nodes are delayed by most at the longest while f makes calls
// that fail.
func failing(t *testing.T, fails func(made) bool, err error, f func(context.Context, *Gateway), most time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		without, _ := join(t, gateway(t, newOutage(func(made) error { return nil }).vendor(), Config{}), 500)
		o := newOutage(func(m made) error {
			if fails(m) {
				return err
			}
			return nil
		})
		g := gateway(t, o.vendor(), Config{})
		defer beside(t, func(ctx context.Context) { f(ctx, g) })()
		for _, pause := range []time.Duration{time.Second, time.Second, 2 * time.Minute} {
			time.Sleep(pause)
			took, events := join(t, g, 500)
			t.Logf("500 others took %v, and %v without the failures; %d of them showed a failure", took, without, events)
			if took > without+most || events > 0 {
				t.Errorf("500 others took %v and %d of them showed a failure, want at most %v more than %v, and none", took, events, most, without)
			}
		}
	})
}

// If only the Services of one namespace are refused, these Services wait, and nobody else.
// They use the quota, because a cluster may have no other Services.
func TestTenantWhoseCallsAreRefusedWaitsAlone(t *testing.T) {
	for name, row := range map[string]struct {
		rate, burst float64
		services    int
		refused     int // at most
		within      time.Duration
	}{
		"SmallQuota": {5, 5, 50, 25, 25 * time.Second},
		"LargeQuota": {20, 20, 500, 50, 45 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, q := 0, bucket(row.rate, row.burst, row.burst)
				g := gateway(t, vendor{balancer: balancer(func(_ context.Context, _ string, s *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
					time.Sleep(30 * time.Millisecond)
					if s.Namespace != "shop" {
						return &corev1.LoadBalancerStatus{}, nil
					}
					if calls++; !q.take() {
						return nil, httpError(429)
					}
					return &corev1.LoadBalancerStatus{}, nil
				})}, Config{})
				start := time.Now()
				var group sync.WaitGroup
				group.Go(func() { do(services(t.Context(), g, row.services, inOneNamespace)) })
				time.Sleep(3 * time.Second)
				began := time.Now()
				for n := range 5 {
					s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: strconv.Itoa(n)}}
					if _, err := g.LoadBalancers().Ensure(t.Context(), s, nil); err != nil {
						t.Error(err)
					}
				}
				took := time.Since(began)
				group.Wait()
				t.Logf("%d calls, %d refused, within %v; five of another namespace took %v", calls, q.throttled, time.Since(start), took)
				if took > time.Second || q.throttled > row.refused || time.Since(start) > row.within {
					t.Errorf("five Services of another namespace took %v, want less than a second; %d calls were refused, want at most %d; it took %v, want at most %v",
						took, q.throttled, row.refused, time.Since(start), row.within)
				}
			})
		})
	}
}
