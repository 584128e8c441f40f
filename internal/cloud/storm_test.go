package cloud

import (
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
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/sleep"
	"github.com/fairlead-k8s/fairlead/test/quirks"
)

// storm has many objects. For each object, a controller has to make one call.
type storm struct {
	objects, workers int
	call             func(n int) error
}

// run makes all calls. Like a controller, it repeats a failed call after a
// growing delay. events is the number of objects for which a call has failed.
func (s storm) run() (took time.Duration, events int) {
	start := time.Now()
	free := make(chan struct{}, s.workers)
	var mu sync.Mutex
	var all sync.WaitGroup
	for n := range s.objects {
		all.Go(func() {
			for failures := 0; ; failures++ {
				free <- struct{}{}
				err := s.call(n)
				<-free
				if err == nil {
					return
				}
				mu.Lock()
				if failures == 0 {
					events++
				}
				mu.Unlock()
				time.Sleep(min(500*time.Millisecond<<min(failures, 10), time.Minute))
			}
		})
	}
	all.Wait()
	return time.Since(start), events
}

// shapes has errors that clouds return when their quota is used up.
var shapes = []struct {
	name string
	err  error
}{
	{"Typed", httpError(429)},
	{"AsText", errors.New("the request was refused: too many requests")},
	{"Unreadable", errors.New("E1234")},
}

// metered returns a provider of a cloud with a quota. Each call takes 30 ms and counts
// towards the quota. Above the quota, the cloud returns the given error.
func metered(q *quota, refused error) cloudprovider.Interface {
	answer := func() error {
		time.Sleep(30 * time.Millisecond)
		if !q.take() {
			return refused
		}
		return nil
	}
	return vendor{
		v2: meteredInstances{metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			return &cloudprovider.InstanceMetadata{ProviderID: "p://1"}, answer()
		}), answer},
		routes: table(func(context.Context, string, string, *cloudprovider.Route) ([]*cloudprovider.Route, error) {
			return nil, answer()
		}),
	}
}

// meteredInstances also answers questions about existence.
type meteredInstances struct {
	metadata

	answer func() error
}

func (m meteredInstances) InstanceExists(context.Context, *corev1.Node) (bool, error) {
	return true, m.answer()
}

// Whatever the error looks like, the work takes hardly longer than the quota requires.
// Few calls are refused, and no object shows a failure that only the quota has caused.
func TestAnyErrorKeepsCallsCloseToTheQuota(t *testing.T) {
	for _, shape := range shapes {
		for _, tt := range []struct {
			name             string
			objects, workers int
			call             func(context.Context, *Gateway, int) error
		}{
			{"ThousandNodes", 1000, 16, askAbout},
			{"FiveThousandNodes", 5000, 16, askAbout},
			{"ThousandSilentNodes", 1000, 16, askWhetherExists},
			{"ThousandRoutes", 1000, 200, createRoute},
		} {
			t.Run(shape.name+"/"+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					q := &quota{rate: 100, burst: 200, tokens: 200, last: time.Now()}
					g := gateway(t, metered(q, shape.err), Config{})
					took, events := storm{tt.objects, tt.workers, func(n int) error { return tt.call(t.Context(), g, n) }}.run()
					bound := time.Duration(float64(tt.objects)-q.burst) * time.Second / 100
					refused := float64(q.throttled) / float64(q.allowed+q.throttled)
					t.Logf("took %v, %.2f of the quota's bound of %v; refused %d, %.1f %%; %d events",
						took, took.Seconds()/bound.Seconds(), bound, q.throttled, 100*refused, events)
					if took > bound*5/4 || refused > 0.025 || events > 0 {
						t.Error("want at most 1.25 of the bound, 2.5 % refused and no event")
					}
				})
			})
		}
	}
}

func askAbout(ctx context.Context, g *Gateway, n int) error {
	_, err := g.Instances().Metadata(ctx, node("node-"+strconv.Itoa(n)))
	return err
}

func askWhetherExists(ctx context.Context, g *Gateway, n int) error {
	_, err := g.Instances().Existence(ctx, node("node-"+strconv.Itoa(n)))
	return err
}

func createRoute(ctx context.Context, g *Gateway, n int) error {
	return g.Routes().Create(ctx, "hint", Route{CIDR: fmt.Sprintf("10.%d.%d.0/24", n/256, n%256), Node: "node-" + strconv.Itoa(n)})
}

// If an object is the cause of its own failures, it must not slow down other
// objects.
func TestObjectsThatFailForTheirOwnReasonsSlowNobodyDown(t *testing.T) {
	for _, tt := range []struct {
		name   string
		failed int // the number of objects that fail; they come first, which is the worst case
		err    error
		within time.Duration // the time for the other objects, whose calls need a second
	}{
		{"OneNode", 1, errors.New("E1234"), 2 * time.Second},
		{"TwoNodesWithWordsOfAUsedUpQuota", 2, errors.New("throttled"), 2 * time.Second},
		{"FiveNodes", 5, errors.New("E1234"), 8 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				g := gateway(t, vendor{v2: metadata(func(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
					time.Sleep(30 * time.Millisecond)
					if strings.HasPrefix(n.Name, "bad-") {
						return nil, tt.err
					}
					return &cloudprovider.InstanceMetadata{}, nil
				})}, Config{})
				var bad sync.WaitGroup
				for n := range tt.failed {
					bad.Go(func() {
						for ctx.Err() == nil {
							_, _ = g.Instances().Metadata(ctx, node("bad-"+strconv.Itoa(n)))
							sleep.For(ctx, 500*time.Millisecond)
						}
					})
				}
				synctest.Wait()
				for range 3 { // The second and third storm show whether the limiter remembers.
					took, events := storm{500, 16, func(n int) error { return askAbout(ctx, g, n) }}.run()
					t.Logf("500 others took %v", took)
					if took > tt.within || events > 0 {
						t.Errorf("500 others took %v with %d events, want at most %v and none", took, events, tt.within)
					}
				}
				cancel()
				bad.Wait()
				time.Sleep(time.Second) // By then, the calls have returned.
			})
		})
	}
}

// A tenant can choose the names and annotations of many Services, and errors can
// quote these words. The tenant must not be able to slow down the cluster in this
// way.
func TestTenantDoesNotSlowTheClusterDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theirs := vendor{balancer: balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			return nil, errors.New("no such tier, see quota: too many requests")
		})}
		g := gateway(t, quirks.Wrap(theirs, quirks.QuotesService), Config{})
		for n := range 50 {
			s := service("throttle-proxy-" + strconv.Itoa(n))
			s.Annotations = map[string]string{"tier": "rate limit exceeded"}
			if _, err := g.LoadBalancers().Ensure(t.Context(), s, nil); err == nil {
				t.Fatal("no error")
			}
		}
		if got := limitOf(g, "EnsureLoadBalancer"); got != 0 {
			t.Errorf("rate %v after 50 Services of one namespace have failed, want no limit", got)
		}
	})
}
