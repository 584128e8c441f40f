package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

// shown counts the errors that a controller gets.
type shown struct {
	mu    sync.Mutex
	kinds map[Kind]int
}

// patiently returns a call that is made again at once as long as it has no answer yet.
func (s *shown) patiently(call func(n int) error) func(n int) error {
	return func(n int) error {
		for {
			err := call(n)
			if err == nil {
				return nil
			}
			s.mu.Lock()
			s.kinds[KindOf(err)]++
			s.mu.Unlock()
			if !IsUnderWay(err) {
				return err
			}
			time.Sleep(50 * time.Millisecond) // Once a question has waited for long, it returns at once.
		}
	}
}

// failures returns the number of errors that say more than that a question waits.
func (s *shown) failures() int {
	n := 0
	for kind, times := range s.kinds {
		if kind != Throttled && kind != Slow {
			n += times
		}
	}
	return n
}

// joinPatiently is like join, but a question that waits is no failure.
func joinPatiently(t *testing.T, g *Gateway, nodes int) (took time.Duration, s *shown) {
	t.Helper()
	s = &shown{kinds: map[Kind]int{}}
	took, _ = storm{nodes, 16, givesUp(s.patiently(func(n int) error { return askAbout(t.Context(), g, n) }))}.run()
	return took, s
}

// Nodes and load balancers share one bucket, which the gateway cannot know: each class
// measures the quota. They use nearly all of it, and more calls are refused than if one
// class were alone.
func TestTwoClassesShareOneBucket(t *testing.T) {
	for _, shape := range shapes {
		t.Run(shape.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := bucket(10, 20, 20)
				g := gateway(t, limited(q, q, shape.err).vendor(), Config{})
				s := shown{kinds: map[Kind]int{}}
				nodes := newNodes(t.Context(), g, 200)
				nodes.call = givesUp(s.patiently(nodes.call))
				balancers := services(t.Context(), g, 100, inNamespaces)
				balancers.call = givesUp(balancers.call)
				done := do(nodes, balancers)
				t.Logf("done %v, refused %.1f %% (%d); errors about Nodes: %v", done, refusedPercent(q), q.throttled, s.kinds)
				for method, took := range done {
					if took > 50*time.Second {
						t.Errorf("the last %s was done after %v, want at most 50 s: the quota alone needs 30", method, took)
					}
				}
				if refusedPercent(q) > 13 {
					t.Errorf("%.1f %% of the calls were refused, want at most 13 %%", refusedPercent(q))
				}
			})
		})
	}
}

func refusedPercent(q *quota) float64 {
	return 100 * float64(q.throttled) / float64(q.allowed+q.throttled)
}

// A cloud with a small quota that somebody else has just used up: the gateway finds the
// rate with few refused calls, and then keeps to it.
func TestSmallQuotas(t *testing.T) {
	const nodes = 300
	for _, tt := range []struct {
		name        string
		rate, burst float64
	}{
		{"OneASecond", 1, 60},
		{"FiveThousandAnHour", 1.4, 250},
		{"ThirteenASecond", 13, 800},
		{"TwentyASecond", 20, 100},
		{"TwentyFiveASecond", 25, 250},
	} {
		for _, shape := range shapes {
			t.Run(tt.name+"/"+shape.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					q := bucket(tt.rate, tt.burst, 0)
					g := gateway(t, limited(q, q, shape.err).vendor(), Config{})
					took, s := joinPatiently(t, g, nodes)
					bound := time.Duration(nodes / tt.rate * float64(time.Second))
					t.Logf("took %v, %.2f of the quota's bound of %v; refused %.1f %% (%d); errors: %v", took, took.Seconds()/bound.Seconds(), bound, refusedPercent(q), q.throttled, s.kinds)
					if took > bound*11/10 {
						t.Errorf("%d Nodes took %v, want at most 1.1 times the quota's bound of %v", nodes, took, bound)
					}
					most, failures := 5.0, 0
					if shape.name == "Unreadable" { // It takes some calls more to find out what such an error means.
						most, failures = 7, 2
					}
					if refusedPercent(q) > most {
						t.Errorf("%.1f %% of the calls were refused, want at most %v %%", refusedPercent(q), most)
					}
					if s.failures() > failures {
						t.Errorf("errors %v about Nodes of which nothing is wrong, want only those that say that a question waits, and %d others", s.kinds, failures)
					}
				})
			})
		}
	}
}

// A quota of 100 calls a second is used nearly to the last call, whatever the error looks
// like. Few calls are refused, and no object shows a failure that only the quota has
// caused.
func TestQuotaOfAHundredCallsIsUsedUp(t *testing.T) {
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
					q := bucket(100, 200, 200)
					g := gateway(t, limited(q, q, shape.err).vendor(), Config{})
					took, events := storm{tt.objects, tt.workers, givesUp(func(n int) error { return tt.call(t.Context(), g, n) })}.run()
					bound := time.Duration(float64(tt.objects)-q.burst) * time.Second / 100
					t.Logf("took %v, %.2f of the quota's bound of %v; refused %.1f %% (%d); %d failures", took, took.Seconds()/bound.Seconds(), bound, refusedPercent(q), q.throttled, events)
					if took > bound*105/100+time.Second || refusedPercent(q) > 2 || events > 0 {
						t.Errorf("%d calls took %v with %.1f %% of them refused, and %d objects showed a failure; want at most 1.05 times %v and 1 s, 2 %% and none", tt.objects, took, refusedPercent(q), events, bound)
					}
				})
			})
		}
	}
}

// After a time in which the cloud has refused all calls, the gateway is soon as fast as
// the quota allows.
func TestAfterAllCallsWereRefused(t *testing.T) {
	for _, lasts := range []time.Duration{30 * time.Second, 5 * time.Minute} {
		for _, joining := range []string{"NodesWaitAlready", "NodesJoinAfterwards"} {
			t.Run(lasts.String()+"/"+joining, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					q := bucket(100, 200, 200)
					o := newOutage(func(m made) error {
						if m.at < lasts || !q.take() {
							return httpError(429)
						}
						return nil
					})
					g := gateway(t, o.vendor(), Config{})
					if joining == "NodesJoinAfterwards" {
						ctx, cancel := context.WithTimeout(t.Context(), lasts) // Afterwards, these Nodes would take a part of the quota.
						defer cancel()
						defer beside(t, func(context.Context) { forever(ctx, 4, func(n int) error { return askAbout(ctx, g, -1-n) }) })()
						time.Sleep(lasts)
					}
					_, s := joinPatiently(t, g, 1000)
					took := time.Since(o.start) - lasts
					t.Logf("1,000 Nodes were done %v after the end; %d calls before it; errors: %v", took, o.before(lasts), s.kinds)
					if took > 15*time.Second {
						t.Errorf("1,000 Nodes were done %v after the cloud accepted calls again, want at most 15 s (its quota needs 8 s)", took)
					}
				})
			})
		}
	}
}

// In a quiet cluster, somebody else who uses the same account causes a refused call from
// time to time. That does not delay Nodes that join later.
func TestRareRefusalsOfAQuietClusterAreForgotten(t *testing.T) {
	for _, every := range []time.Duration{0, 5 * time.Minute} {
		for _, between := range []time.Duration{4 * time.Second, 20 * time.Second} {
			t.Run(fmt.Sprintf("RefusedEvery%v/CallEvery%v", every, between), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					q, refused := bucket(100, 200, 200), time.Now()
					g := gateway(t, newOutage(func(m made) error {
						if every > 0 && m.at < 2*time.Hour && time.Since(refused) >= every {
							refused = time.Now()
							return httpError(429)
						}
						if !q.take() {
							return httpError(429)
						}
						return nil
					}).vendor(), Config{})
					for start := time.Now(); time.Since(start) < 2*time.Hour; time.Sleep(between) {
						_ = askAbout(t.Context(), g, -1)
					}
					took, events := join(t, g, 1000)
					t.Logf("1,000 Nodes took %v, with %d failures", took, events)
					if took > 11*time.Second || events > 0 {
						t.Errorf("1,000 Nodes took %v after two quiet hours and %d showed a failure, want at most 11 s (the quota needs 8 s) and none", took, events)
					}
				})
			})
		}
	}
}

// While calls wait because the cloud has named a time, the gateway says so, and names
// their class.
func TestPauseThatTheCloudNamedIsVisible(t *testing.T) {
	const pause = 5 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(until(pause, later{429, pause}))
		g := gateway(t, o.vendor(), Config{})
		silent := map[string][]time.Duration{}
		says := func() map[string]string { return map[string]string{"Limit": fmt.Sprint(g.Limit()), "State": g.State()} }
		watched := beside(t, func(context.Context) {
			for at := 15 * time.Second; at < pause; at += 5 * time.Second {
				time.Sleep(at - time.Since(o.start))
				for method, said := range says() {
					if at == 15*time.Second || at == pause/2 {
						t.Logf("%s after %v: %q", method, at, said)
					}
					if !strings.Contains(said, "instances") {
						silent[method] = append(silent[method], at)
					}
				}
			}
		})
		s := shown{kinds: map[Kind]int{}}
		took, _ := storm{20, 20, givesUp(s.patiently(func(n int) error { return askAbout(t.Context(), g, n) }))}.run()
		watched()
		t.Logf("the calls were done %v after the pause; %d calls in it; errors: %v", took-pause, o.before(pause), s.kinds)
		for method, at := range silent {
			t.Errorf("%s did not say that calls about instances wait at %d of 57 moments of the pause, first after %v", method, len(at), at[0])
		}
		time.Sleep(time.Minute)
		for method, said := range says() {
			if strings.Contains(said, "instances") || strings.Contains(said, "wait") {
				t.Errorf("%s says %q two minutes after the pause, want nothing about it", method, said)
			}
		}
	})
}

// refusesShutdown is a cloud that may not be asked whether an instance is shut down.
type refusesShutdown struct{ outageInstances }

func (r refusesShutdown) InstanceShutdown(ctx context.Context, _ *corev1.Node) (bool, error) {
	return false, r.answer(ctx, "InstanceShutdown", "")
}

// What was denied once and is never asked again is not reported for ever.
func TestStateForgetsCallsThatNobodyMakesAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(func(m made) error {
			if m.method == "InstanceShutdown" {
				return httpError(403)
			}
			return nil
		})
		g := gateway(t, vendor{v2: refusesShutdown{outageInstances{o}}}, Config{})
		for n := range 4 {
			_, _ = g.Instances().Shutdown(t.Context(), node(fmt.Sprint("n-", n)))
			time.Sleep(2 * time.Second)
			_ = askAbout(t.Context(), g, 1)
		}
		t.Logf("at the beginning: %q", g.State())
		for range 24 * 60 {
			_ = askAbout(t.Context(), g, 1)
			time.Sleep(time.Minute)
		}
		said := g.State()
		t.Logf("a day later: %q", said)
		for _, word := range []string{"not answer", "denied", "fail", "held", "shut", "existence"} {
			if strings.Contains(strings.ToLower(said), word) {
				t.Errorf("a day later the state is %q, want nothing about calls that nobody makes any more", said)
				break
			}
		}
	})
}

// Three silent Nodes whose questions fail with errors that nobody can read always get the
// same error while questions about other Nodes succeed. Otherwise the reason on each Node
// would change again and again.
func TestErrorsOfSilentNodesStayTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(func(m made) error {
			if m.method == "InstanceExists" {
				return errors.New("E1234")
			}
			return nil
		})
		g := gateway(t, o.vendor(), Config{})
		failed := 0
		defer beside(t, func(ctx context.Context) {
			known := []*corev1.Node{node("known-1"), node("known-2"), node("known-3")}
			for sleep.For(ctx, 20*time.Second) {
				for _, answer := range g.Instances().Refresh(ctx, known) {
					if answer.Err != nil {
						failed++
					}
				}
			}
		})()
		time.Sleep(5 * time.Minute)
		var silent sync.WaitGroup
		for n := range 3 {
			silent.Go(func() {
				var errs []string
				flips := 0
				for start := time.Now(); time.Since(start) < 2*time.Hour; {
					err := askWhetherExists(t.Context(), g, n)
					errs = append(errs, fmt.Sprintf("%s held %v", KindOf(err), HeldFor(err) > 0))
					if errs[len(errs)-1] != errs[max(len(errs)-2, 0)] {
						flips++
					}
					time.Sleep(cmp.Or(HeldFor(err), 10*time.Minute))
				}
				if t.Logf("Node %d: %d changes: %v", n, flips, errs); flips > 0 {
					t.Errorf("the error of silent Node %d changed %d times, want always the same", n, flips)
				}
			})
		}
		silent.Wait()
		if failed > 0 {
			t.Errorf("%d refreshes of other Nodes failed, want none", failed)
		}
	})
}
