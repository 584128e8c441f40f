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
)

func TestTurns(t *testing.T) {
	var turns turns
	for range 60 {
		for p := range priorities {
			turns.add(p)
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
	if !turns.empty() || got[lowPriority] != 240-69+4 {
		t.Errorf("%v turns, want one for each call", got)
	}
}

func TestPriorityThatRestedGetsNoMoreThanItsShare(t *testing.T) {
	var turns turns
	for range 100 {
		turns.add(highPriority)
		turns.next()
	}
	for range 20 {
		turns.add(highPriority)
		turns.add(updatePriority)
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

// Whatever calls come, the share of a call's priority bounds how many others
// start before it (promise P2 b).
func TestNoCallWaitsForMoreThanItsShare(t *testing.T) {
	total := 0.0
	for _, share := range shares {
		total += share
	}
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var turns turns
		var started int
		latest := map[*turn]int{} // the number, in the order of starts, that a call may have at most
		for range 2000 {
			for p := range priorities {
				for range random.IntN(3) {
					before := len(turns.waiting[p])
					latest[turns.add(p)] = started + int(float64(before+1)*total/shares[p]) + int(priorities)
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

// While Nodes wait all the time, load balancers still follow their nodes, and
// Nodes are still refreshed (promise S3).
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
		g.limiter.throttled(time.Now(), time.Second)
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
