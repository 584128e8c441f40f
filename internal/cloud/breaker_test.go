package cloud

import (
	"context"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"

	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

// login is a cloud that counts all calls. It denies each call for which
// denies(name) is true.
func login(calls *atomic.Int32, denies func(name string) bool) vendor {
	answer := func(name string) error {
		calls.Add(1)
		time.Sleep(30 * time.Millisecond)
		if denies(name) {
			return httpError(403)
		}
		return nil
	}
	return vendor{
		v2: metadata(func(_ context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
			return &cloudprovider.InstanceMetadata{}, answer(n.Name)
		}),
		balancer: balancer(func(_ context.Context, _ string, s *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			return &corev1.LoadBalancerStatus{}, answer(s.Name)
		}),
	}
}

func TestDeniedCredentialsMakeOneProbeAndHealAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		var fixed atomic.Bool
		g := gateway(t, login(&calls, func(string) bool { return !fixed.Load() }), Config{})
		start := time.Now()
		time.AfterFunc(10*time.Minute, func() {
			t.Logf("%d calls in ten minutes", calls.Load())
			if n := calls.Load(); n > 3+5+120+20 {
				t.Errorf("%d denied calls for 1,000 Nodes in ten minutes, want one every 30 s after the first 16", n)
			}
			fixed.Store(true)
		})
		_, events := storm{1000, 16, func(n int) error {
			err := askAbout(t.Context(), g, n)
			if err != nil && KindOf(err) != Denied {
				t.Errorf("kind %v of %v, want %v", KindOf(err), err, Denied)
			}
			return err
		}}.run()
		// In this test, each object is tried again after at most a minute.
		if after := time.Since(start) - 10*time.Minute; after > longestProbe+time.Minute+10*time.Second {
			t.Errorf("the last Node was described %v after the credentials were right", after)
		}
		if events != 1000 {
			t.Errorf("%d of 1,000 Nodes have the reason", events)
		}
	})
}

func TestDenial(t *testing.T) {
	nodes := func(t *testing.T, g *Gateway, names ...string) (denied int) {
		t.Helper()
		for _, name := range names {
			if _, err := g.Instances().Metadata(t.Context(), node(name)); KindOf(err) == Denied {
				denied++
			}
		}
		return denied
	}
	services := func(t *testing.T, g *Gateway, namespaces ...string) (denied int) {
		t.Helper()
		for n, namespace := range namespaces {
			s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "bad-" + strconv.Itoa(n)}}
			if _, err := g.LoadBalancers().Ensure(t.Context(), s, nil); KindOf(err) == Denied {
				denied++
			}
		}
		return denied
	}
	for _, tt := range []struct {
		name   string
		do     func(*testing.T, *Gateway) (denied int)
		denied int
		calls  int32
	}{
		{"OneObjectBlocksNoOther", func(t *testing.T, g *Gateway) int {
			return nodes(t, g, "bad-1", "bad-1", "bad-1", "bad-1", "good")
		}, 4, 5},
		{"TwoObjectsBlockNoOther", func(t *testing.T, g *Gateway) int { return nodes(t, g, "bad-1", "bad-2", "bad-1", "good") }, 3, 4},
		{"AnswerInBetweenShowsThatCredentialsAreRight", func(t *testing.T, g *Gateway) int {
			return nodes(t, g, "bad-1", "bad-2", "good", "bad-3", "good", "bad-4")
		}, 4, 6},
		{"ThreeDeniedObjectsBlockAllOthers", func(t *testing.T, g *Gateway) int { return nodes(t, g, "bad-1", "bad-2", "bad-3", "bad-4", "bad-5") }, 5, 3},
		{"OtherMethodIsCalled", func(t *testing.T, g *Gateway) int {
			return nodes(t, g, "bad-1", "bad-2", "bad-3") + services(t, g, "a")
		}, 4, 4},
		{"ProbeHeals", func(t *testing.T, g *Gateway) int {
			denied := nodes(t, g, "bad-1", "bad-2", "bad-3", "good")
			time.Sleep(firstProbe)
			return denied + nodes(t, g, "good", "bad-1", "good")
		}, 5, 6},
		{"ServicesBlockNoOther", func(t *testing.T, g *Gateway) int { return services(t, g, "a", "b", "c", "d", "e") }, 5, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int32
				g := gateway(t, login(&calls, func(name string) bool { return strings.HasPrefix(name, "bad-") }), Config{})
				if denied := tt.do(t, g); denied != tt.denied || calls.Load() != tt.calls {
					t.Errorf("%d were denied with %d calls, want %d with %d", denied, calls.Load(), tt.denied, tt.calls)
				}
			})
		})
	}
}

// The return of a watch that began before an outage does not end the outage.
func TestAnswerOfAWatchSaysNothing(t *testing.T) {
	var b breaker
	for _, name := range []string{"a", "b", "c"} {
		c := call{method: "InstanceMetadata", names: []string{name}}
		b.record(c, time.Now(), &Error{Kind: Unavailable, Evidence: Typed})
	}
	b.record(call{method: "WatchInstances", waits: true}, time.Now().Add(-time.Minute), nil)
	if !b.holds(call{method: "InstanceMetadata", names: []string{"d"}}) {
		t.Error("the outage is over")
	}
}

// A provider asks to be called again for one Service. The text of its error
// contains words that suggest an outage.
func TestPauseOfOneServiceIsNotForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		v := login(&calls, func(string) bool { return false })
		v.balancer = balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			return nil, api.NewRetryError("the listener is not up yet: connection refused", maxPause)
		})
		g := gateway(t, v, Config{})
		_, _ = g.LoadBalancers().Ensure(t.Context(), service("s"), nil)
		if _, err := g.Instances().Metadata(t.Context(), node("n")); err != nil {
			t.Errorf("a Node waits for the Service: %v", err)
		}
	})
}

// existsIn asks whether the instance of a Node in a region exists.
func existsIn(t *testing.T, g *Gateway, region string, n int) error {
	t.Helper()
	found := node(region + "-" + strconv.Itoa(n))
	found.Labels = map[string]string{corev1.LabelTopologyRegion: region}
	_, err := g.Instances().Existence(t.Context(), found)
	return err
}

func metadataIn(t *testing.T, g *Gateway, region string, n int) error {
	found := node(region + "-" + strconv.Itoa(n))
	found.Labels = map[string]string{corev1.LabelTopologyRegion: region}
	_, err := g.Instances().Metadata(t.Context(), found)
	return err
}

// In an outage, the first call of its kind is made at once if an object waits for
// it. If no object waits, the call is held back.
func TestFirstOfItsKindIsMadeOnlyForAnObjectThatWaits(t *testing.T) {
	for _, tt := range []struct {
		name  string
		call  func(t *testing.T, g *Gateway, n int) error
		calls int
	}{
		{"Refresh", func(t *testing.T, g *Gateway, n int) error {
			return g.Instances().Refresh(t.Context(), []*corev1.Node{node("old-" + strconv.Itoa(n))})[0].Err
		}, 0},
		{"Initialisation", func(t *testing.T, g *Gateway, n int) error { return metadataIn(t, g, "", n) }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOutage(until(time.Hour, httpError(503)))
				g := gateway(t, o.vendor(), Config{})
				for n := range minDown {
					_ = askWhetherExists(t.Context(), g, n)
				}
				began, before := time.Since(o.start), o.before(time.Hour)
				for n := range 10 {
					if err := tt.call(t, g, n); HeldFor(err) == 0 {
						t.Errorf("call %d got %v, want that it is held back or failed as the probe", n, err)
					}
				}
				if calls := o.before(began+firstProbe/2) - before; calls != tt.calls {
					t.Errorf("%d calls before the first probe, want %d", calls, tt.calls)
				}
			})
		})
	}
}

// While all parts are held back, the first call of a part is preferred as the next probe.
// It is made at once, or waits in the gateway for the next probe, or is refused.
func TestFirstCallOfAPartInAnOutage(t *testing.T) {
	for name, row := range map[string]struct {
		call         call
		made, parked bool // parked: it waits in the gateway for the next probe
	}{
		"Initialisation":       {call{method: "InstanceMetadata", priority: highPriority, names: []string{"new"}}, true, false},
		"Watch":                {call{method: "WatchInstances", priority: lowPriority, names: []string{"w"}, waits: true}, true, false},
		"List":                 {call{method: "ListInstances", priority: refreshPriority, names: []string{"l"}}, false, true},
		"SilentNode":           {call{method: "InstanceShutdown", priority: updatePriority, names: []string{"node-0"}}, false, false},
		"NodeThatWaitsForLong": {call{method: "InstanceMetadata", priority: lowPriority, names: []string{"old"}}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := gateway(t, newOutage(until(time.Hour, httpError(503))).vendor(), Config{})
				for n := range 2 * minDown { // All calls but the first ones are held back, so they wait for a probe, too.
					_ = askWhetherExists(t.Context(), g, n)
				}
				if rank := g.breaker.rank(row.call); rank != 0 {
					t.Errorf("its rank is %d, want 0: the next probe", rank)
				}
				err := g.breaker.begin(row.call)
				if made := err == nil; made != row.made || isParked(err) != row.parked {
					t.Errorf("made %t, waits in the gateway %t, want %t and %t: %v", made, isParked(err), row.made, row.parked, err)
				}
			})
		})
	}
}

// Of many first calls of a part, at most two are told to come back for the next probe: one
// whose object has failed, and one whose object has not.
func TestFewOfManyFirstCallsComeBackForTheProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway(t, newOutage(until(time.Hour, httpError(503))).vendor(), Config{})
		for n := range minDown {
			_ = askWhetherExists(t.Context(), g, n)
		}
		early := 0
		for n := range 100 {
			err := g.breaker.check(call{method: "InstanceShutdown", priority: updatePriority, names: []string{"node-" + strconv.Itoa(n)}})
			if HeldFor(err) <= firstProbe {
				early++
			}
		}
		if early < 1 || early > 2 {
			t.Errorf("%d calls come back for the next probe, want 1 or 2", early)
		}
	})
}

// Suppose that only one method fails, and that no other question is asked. Then the
// first question of the periodic comparison gets an answer within two probes, even if
// the failing method is tried often. From then on only the failing method is held back.
func TestComparisonFindsThatOnlyOneMethodIsDown(t *testing.T) {
	for _, pause := range []time.Duration{0, time.Minute} {
		t.Run("After"+pause.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOutage(func(m made) error {
					if m.method == "InstanceExists" {
						return httpError(503)
					}
					return nil
				})
				g := gateway(t, o.vendor(), Config{})
				ctx, end := context.WithCancel(t.Context())
				for n := range minDown {
					go func() {
						for ctx.Err() == nil {
							time.Sleep(max(HeldFor(askWhetherExists(ctx, g, n)), time.Millisecond))
						}
					}()
				}
				time.Sleep(time.Second + pause)
				old := node("node-0") // a question with another method has failed for this Node
				isDown := func() bool { return strings.HasPrefix(g.breaker.state(), "is down") }
				if !isDown() {
					t.Fatal("calls of all parts are not held back, so there is nothing to find out")
				}
				began := time.Now()
				answer := g.Instances().Refresh(t.Context(), []*corev1.Node{old})[0]
				took := time.Since(began)
				t.Logf("answered after %v: %v", took, answer.Err)
				if answer.Err != nil || took > 2*longestProbe {
					t.Errorf("the question has ended after %v with %v, want an answer within %v", took, answer.Err, 2*longestProbe)
				}
				if isDown() {
					t.Error("calls of all parts are still held back")
				}
				end()
				time.Sleep(time.Minute) // until the questions above have ended
			})
		})
	}
}

// A kubelet can choose the region of its Node. All regions that are invented during an
// outage cost the cloud one call in total. Regions that were invented before the outage
// cost no calls while the Nodes are silent. While the Nodes wait to be initialised,
// these regions cost at most maxParts calls.
func TestInventedRegionsCostOneCall(t *testing.T) {
	const before = time.Minute // from the start to the outage
	for _, tt := range []struct {
		name   string
		known  int // regions that are invented before the outage, and asked about again during it
		unseen int // regions that are invented during the outage
		ask    func(t *testing.T, g *Gateway, region string, n int) error
		calls  int // in the outage
	}{
		{"None", 0, 0, existsIn, 12},
		{"InTheOutage", 0, 1000, metadataIn, 12 + 1},
		{"BeforeTheOutage", 1000, 0, metadataIn, 12 + maxParts},
		{"InTheOutageAndSilent", 0, 1000, existsIn, 12},
		{"BeforeTheOutageAndSilent", 1000, 0, existsIn, 12},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOutage(func(m made) error {
					if m.at >= before {
						return httpError(503)
					}
					return nil
				})
				g := gateway(t, o.vendor(), Config{})
				for n := range tt.known {
					_ = tt.ask(t, g, "r"+strconv.Itoa(n), n)
				}
				time.Sleep(before - time.Since(o.start))
				for n := range 20 { // These calls show that the cloud is down.
					_ = existsIn(t, g, "real", n)
					time.Sleep(time.Second)
				}
				for n := range max(tt.known, tt.unseen) {
					_ = tt.ask(t, g, "r"+strconv.Itoa(n), n)
				}
				calls := o.count(func(m made) bool { return m.at >= before })
				t.Logf("%d calls, %d parts", calls, len(g.breaker.parts))
				if parts := len(g.breaker.parts); calls > tt.calls || parts > maxParts+2 { // each of two methods also has a part without a region
					t.Errorf("%d calls in the outage with %d parts, want at most %d and %d", calls, parts, tt.calls, maxParts+2)
				}
			})
		})
	}
}

// A region that nobody uses any more is forgotten when another region needs its
// place. The failures of the new region then do not hold back other calls.
func TestRegionsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(func(m made) error {
			if strings.HasPrefix(m.object, "down-") {
				return httpError(503)
			}
			return nil
		})
		g := gateway(t, o.vendor(), Config{})
		for n := range 2 * maxParts {
			_ = existsIn(t, g, "r"+strconv.Itoa(n), n)
		}
		time.Sleep(partsKept + time.Minute)
		for n := range 10 {
			_ = existsIn(t, g, "up", n)
			_ = existsIn(t, g, "down", n)
			time.Sleep(time.Second)
		}
		held := existsIn(t, g, "down", 10)
		if err := existsIn(t, g, "up", 10); err != nil || HeldFor(held) == 0 {
			t.Errorf("a region that works: %v; one that is down: %v, want it held back alone", err, held)
		}
	})
}

// For a nonsensical provider ID, some providers return InstanceNotFound without asking
// the cloud. Such a result looks like an answer of the cloud, so it ends the hold. Even
// so, the cloud gets few calls.
func TestAnswersThatTheCloudHasNotGivenCostFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const length = 10 * time.Minute
		o := newOutage(func(m made) error {
			if m.object == "nonsense" {
				return cloudprovider.InstanceNotFound
			}
			return until(length, httpError(503))(m)
		})
		g := gateway(t, o.vendor(), Config{})
		ctx, cancel := context.WithTimeout(t.Context(), length)
		defer cancel()
		go func() {
			for sleep.For(ctx, 10*time.Second) {
				_, _ = g.Instances().Existence(ctx, node("nonsense"))
			}
		}()
		do(silentNodes(t.Context(), g, 500), newNodes(t.Context(), g, 50))
		calls := o.count(func(m made) bool { return m.at < length && m.object != "nonsense" })
		t.Logf("%d calls for other objects in %v", calls, length)
		if most := int(length/(5*time.Second)) * 3; calls > most {
			t.Errorf("%d calls for other objects, want at most %d", calls, most)
		}
	})
}
