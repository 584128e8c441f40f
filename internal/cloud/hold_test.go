package cloud

import (
	"context"
	"strconv"
	"strings"
	"sync"
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
		if after := time.Since(start) - 10*time.Minute; after > longestPause+time.Minute+10*time.Second {
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
			time.Sleep(firstPause)
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
	var l limiter
	down := &Error{Kind: Unavailable, Evidence: Typed}
	for _, method := range []string{"ListInstances", "ListRoutes", "WatchInstances"} {
		l.record(call{method: method, waits: method == "WatchInstances"}, time.Now(), down)
	}
	watch := call{method: "WatchInstances", waits: true}
	l.record(watch, time.Now().Add(-time.Minute), nil)
	if !strings.Contains(l.held(), watchCalls) {
		t.Errorf("it %q, want that the watch is held back in spite of one that began before", l.held())
	}
	l.record(watch, time.Now().Add(time.Second), nil)
	if held := l.held(); strings.Contains(held, watchCalls) || !strings.Contains(held, listCalls) {
		t.Errorf("it %q, want that a watch that began later ends the hold of the watch only", held)
	}
}

// A provider asks to be called again for one Service. The text of its error
// contains words that suggest an outage.
func TestPauseOfOneServiceIsNotForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		v := login(&calls, func(string) bool { return false })
		v.balancer = balancer(func(context.Context, string, *corev1.Service, []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			return nil, api.NewRetryError("the listener is not up yet: connection refused", longestAsked)
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

// In an outage, the first call of each class is made at once, because it may work.
func TestFirstCallOfAClassInAnOutage(t *testing.T) {
	for _, tt := range []struct {
		name  string
		call  func(t *testing.T, g *Gateway, n int) error
		calls int
	}{
		{"Initialisation", func(t *testing.T, g *Gateway, n int) error { return metadataIn(t, g, "", n) }, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOutage(until(time.Hour, httpError(503)))
				g := gateway(t, o.vendor(), Config{})
				for n := range few {
					_ = askWhetherExists(t.Context(), g, n)
				}
				began, before := time.Since(o.start), o.before(time.Hour)
				var all sync.WaitGroup
				for n := range 10 {
					all.Go(func() { _ = tt.call(t, g, n) })
				}
				time.Sleep(firstPause / 2)
				if calls := o.before(began+firstPause/2) - before; calls < tt.calls || calls > 2*tt.calls {
					t.Errorf("%d calls before the first probe, want %d, or one more at the same time", calls, tt.calls)
				}
				all.Wait()
			})
		})
	}
}

// A kubelet can choose the region of its Node. Regions that are invented during an outage
// do not become classes, so together they cost no more calls than one region. Regions that
// were invented before cost a call each, if they have a class.
func TestInventedRegionsCostFewCalls(t *testing.T) {
	const before = time.Minute // from the start to the outage
	for _, tt := range []struct {
		name   string
		known  int // regions that are invented before the outage, and asked about again during it
		unseen int // regions that are invented during the outage
		ask    func(t *testing.T, g *Gateway, region string, n int) error
		calls  int // in the first minute of the outage
	}{
		{"None", 0, 0, existsIn, 20},
		{"InTheOutage", 0, 500, metadataIn, 25},
		{"BeforeTheOutage", 500, 0, metadataIn, 25 + maxClasses},
		{"InTheOutageAndSilent", 0, 500, existsIn, 25},
		{"BeforeTheOutageAndSilent", 500, 0, existsIn, 25 + maxClasses},
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
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var all sync.WaitGroup
				keepAsking := func(ask func() error) {
					all.Go(func() {
						for sleep.For(ctx, max(HeldFor(ask()), time.Second)) {
						}
					})
				}
				for n := range 20 { // These calls show that the cloud is down.
					keepAsking(func() error { return existsIn(t, g, "real", n) })
				}
				time.Sleep(time.Second)
				for n := range max(tt.known, tt.unseen) {
					keepAsking(func() error { return tt.ask(t, g, "r"+strconv.Itoa(n), n) })
				}
				all.Wait()
				calls := o.count(func(m made) bool { return m.at >= before && m.at < before+time.Minute })
				t.Logf("%d calls, %d classes", calls, len(g.limiter.classes))
				if classes := len(g.limiter.classes); calls > tt.calls || classes > maxClasses+2 { // each of two kinds also has a class without a region
					t.Errorf("%d calls in the outage with %d classes, want at most %d and %d", calls, classes, tt.calls, maxClasses+2)
				}
				time.Sleep(time.Minute) // By then, the last calls have returned.
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
		for n := range 2 * maxClasses {
			_ = existsIn(t, g, "r"+strconv.Itoa(n), n)
		}
		time.Sleep(anHour + time.Minute)
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
