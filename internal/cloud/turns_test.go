package cloud

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

func waiting(p priority) *turn {
	return &turn{call: call{priority: p}, begun: make(chan struct{})}
}

func TestTurns(t *testing.T) {
	var turns turns
	for range 60 {
		for p := range priorities {
			turns.add(waiting(p))
		}
	}
	var got [priorities]int
	for range 69 {
		got[turns.next().priority]++
	}
	if want := [priorities]int{refreshPriority: 1, lowPriority: 4, updatePriority: 16, highPriority: 48}; got != want {
		t.Errorf("turns of a refresh and of low, update and high priority %v, want %v", got, want)
	}
	for turns.next() != nil {
		got[lowPriority]++
	}
	if turns.count(refreshPriority) > 0 || got[lowPriority] != 240-69+4 {
		t.Errorf("%v turns, want one for each call", got)
	}
}

func TestPriorityThatRestedGetsNoMoreThanItsShare(t *testing.T) {
	var turns turns
	for range 100 {
		turns.add(waiting(highPriority))
		turns.next()
	}
	for range 20 {
		turns.add(waiting(highPriority))
		turns.add(waiting(updatePriority))
	}
	updates := 0
	for range 16 {
		if turns.next().priority == updatePriority {
			updates++
		}
	}
	if updates != 4 {
		t.Errorf("%d of 16 turns are updates, want 4", updates)
	}
}

// The share of a call's priority bounds the number of other calls that start
// before it (promise P2 b).
func TestNoCallWaitsForMoreThanItsShare(t *testing.T) {
	total := 0.0
	for _, share := range shares {
		total += share
	}
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var turns turns
		var started int
		latest := map[*turn]int{} // the last place in the order of starts that each call can get
		for range 2000 {
			for p := range priorities {
				for range random.IntN(3) {
					before := len(turns.waiting[p])
					added := waiting(p)
					turns.add(added)
					latest[added] = started + int(float64(before+1)*total/shares[p]) + int(priorities)
				}
			}
			next := turns.next()
			if next == nil {
				continue
			}
			if started++; started > latest[next] {
				t.Fatalf("seed %d: a call of priority %d is number %d, want %d at the latest", seed, next.priority, started, latest[next])
			}
			delete(latest, next)
		}
		for waits, by := range latest {
			if started > by {
				t.Fatalf("seed %d: a call of priority %d still waits after %d calls, want it to start as number %d", seed, waits.priority, started, by)
			}
		}
	}
}

// While the quota is used up, each kind of call waits with its own priority. Calls
// about Nodes that do not wait have the lowest priority, and so do calls that read the
// list of instances.
func TestPriorities(t *testing.T) {
	v2 := metadata(nothing)
	ask := func(g *Gateway) map[string]func(context.Context) {
		i := g.Instances()
		return map[string]func(context.Context){
			"Metadata":              func(ctx context.Context) { _, _ = i.Metadata(ctx, node("a")) },
			"MetadataAtLowPriority": func(ctx context.Context) { _, _ = i.MetadataAtLowPriority(ctx, node("a")) },
			"Refresh":               func(ctx context.Context) { i.Refresh(ctx, []*corev1.Node{node("a"), node("b")}) },
			"Page":                  func(ctx context.Context) { _, _ = i.Lister().Page(ctx, "") },
		}
	}
	for _, tt := range []struct {
		call string
		part cloudprovider.InstancesV2
		want priority
	}{
		{"Metadata", v2, highPriority},
		{"MetadataAtLowPriority", v2, lowPriority},
		{"Refresh", v2, refreshPriority},
		{"Refresh", batching{metadata: v2, answer: func(nodes []*corev1.Node) ([]provider.InstanceMetadataAnswer, error) {
			return make([]provider.InstanceMetadataAnswer, len(nodes)), nil
		}}, refreshPriority},
		{"Page", hinting{metadata: v2, list: func(string) (provider.InstancePage, error) { return provider.InstancePage{}, nil }}, refreshPriority},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			g := gateway(t, vendor{v2: tt.part}, Config{})
			for _, method := range []string{"InstanceMetadata", "ListInstances"} {
				throttle(g, method, time.Hour)
			}
			var asking sync.WaitGroup
			asking.Go(func() { ask(g)[tt.call](ctx) })
			synctest.Wait()
			g.limiter.mu.Lock()
			for _, c := range g.limiter.classes {
				for p, calls := range c.turns.waiting {
					if len(calls) > 0 && priority(p) != tt.want {
						t.Errorf("%s of %T: %d calls wait with priority %d, want all with %d", tt.call, tt.part, len(calls), p, tt.want)
					}
				}
			}
			g.limiter.mu.Unlock()
			cancel()
			asking.Wait()
		})
	}
}

// Even while Nodes wait all the time, load balancers are updated and Nodes are
// refreshed (promise S3).
func TestUpdatesDoNotWaitForAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		g := gateway(t, vendor{
			v2: metadata(func(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
				return &cloudprovider.InstanceMetadata{}, nil
			}),
			balancer: balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
				return &corev1.LoadBalancerStatus{}, nil
			}),
		}, Config{})
		throttle(g, "InstanceMetadata", time.Second)
		var all sync.WaitGroup
		for n := range 50 {
			all.Go(func() {
				for ctx.Err() == nil {
					_, _ = g.Instances().Metadata(ctx, node(strconv.Itoa(n)))
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		for n := range 10 {
			if err := g.LoadBalancers().Update(ctx, service(strconv.Itoa(n)), nil); err != nil {
				t.Errorf("update %d: %v", n, err)
			}
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("ten updates took %v beside Nodes that wait all the time, want a share of the quota", took)
		}
		start = time.Now()
		if answers := g.Instances().Refresh(ctx, []*corev1.Node{node("refreshed")}); answers[0].Err != nil || time.Since(start) > 10*time.Second {
			t.Errorf("a refresh took %v: %v", time.Since(start), answers[0].Err)
		}
		cancel()
		all.Wait()
	})
}
