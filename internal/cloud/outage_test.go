package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/sleep"
)

// outage is a cloud that can fail. It calls a function to get the error of each call,
// or nil if the call succeeds.
type outage struct {
	mu    sync.Mutex
	start time.Time
	calls []made

	took  time.Duration // the duration of a call
	fails func(made) error
}

// made is a call that has reached the cloud.
type made struct {
	at             time.Duration // the time since the start
	method, object string
}

func newOutage(fails func(made) error) *outage {
	return &outage{start: time.Now(), took: 30 * time.Millisecond, fails: fails}
}

// until returns a function that makes all calls fail with this error until the given
// time.
func until(end time.Duration, err error) func(made) error {
	return func(m made) error {
		if m.at < end {
			return err
		}
		return nil
	}
}

func (o *outage) answer(ctx context.Context, method, object string) error {
	m := made{time.Since(o.start), method, object}
	o.mu.Lock()
	o.calls = append(o.calls, m)
	o.mu.Unlock()
	err := o.fails(m)
	if errors.Is(err, errHangs) {
		<-ctx.Done()
		return ctx.Err()
	}
	time.Sleep(o.took)
	return err
}

// errHangs stands for a call that hangs until its deadline.
var errHangs = errors.New("the call hangs")

func (o *outage) count(is func(made) bool) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, m := range o.calls {
		if is(m) {
			n++
		}
	}
	return n
}

func (o *outage) before(end time.Duration) int {
	return o.count(func(m made) bool { return m.at < end })
}

func (o *outage) vendor() vendor {
	return vendor{
		v2: outageInstances{o},
		balancer: balancer(func(ctx context.Context, _ string, s *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
			return &corev1.LoadBalancerStatus{}, o.answer(ctx, "EnsureLoadBalancer", key(s))
		}),
		routes: table(func(ctx context.Context, _, _ string, r *cloudprovider.Route) ([]*cloudprovider.Route, error) {
			return nil, o.answer(ctx, "CreateRoute", string(r.TargetNode))
		}),
	}
}

type outageInstances struct{ *outage }

func (i outageInstances) InstanceMetadata(ctx context.Context, n *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	err := i.answer(ctx, "InstanceMetadata", n.Name)
	if errors.Is(err, errNoAnswer) {
		return nil, nil //nolint:nilnil // some providers do
	}
	return &cloudprovider.InstanceMetadata{}, err
}

func (i outageInstances) InstanceExists(ctx context.Context, n *corev1.Node) (bool, error) {
	return true, i.answer(ctx, "InstanceExists", n.Name)
}

func (i outageInstances) InstanceShutdown(context.Context, *corev1.Node) (bool, error) {
	return false, nil
}

// work is the work of one controller of a cluster.
type work struct {
	method           string
	objects, workers int
	first, longest   time.Duration // the pauses between two tries for an object
	call             func(n int) error
}

func silentNodes(ctx context.Context, g *Gateway, n int) work {
	return work{"InstanceExists", n, 16, 10 * time.Second, time.Minute, func(n int) error { return askWhetherExists(ctx, g, n) }}
}

func newNodes(ctx context.Context, g *Gateway, n int) work {
	return work{"InstanceMetadata", n, 16, 500 * time.Millisecond, time.Minute, func(n int) error {
		_, err := g.Instances().Metadata(ctx, node("new-"+strconv.Itoa(n)))
		return err
	}}
}

func services(ctx context.Context, g *Gateway, n int, namespace func(n int) string) work {
	return work{"EnsureLoadBalancer", n, 1, 5 * time.Second, 5 * time.Minute, func(n int) error {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace(n), Name: "s-" + strconv.Itoa(n)}}
		_, err := g.LoadBalancers().Ensure(ctx, s, nil)
		return err
	}}
}

func inOneNamespace(int) string { return "shop" }

func inNamespaces(n int) string { return "shop-" + strconv.Itoa(n%10) }

func newRoutesOf(ctx context.Context, g *Gateway, n int) work {
	return work{"CreateRoute", n, 8, time.Second, time.Minute, func(n int) error { return createRoute(ctx, g, n) }}
}

// do does all the work as controllers would. It tries each object again after a growing
// pause, or after the pause that the gateway asks for. For each method, do returns how
// long it took until the calls for all objects had succeeded.
func do(all ...work) map[string]time.Duration {
	start := time.Now()
	done := map[string]time.Duration{}
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, w := range all {
		free := make(chan struct{}, w.workers)
		for n := range w.objects {
			group.Go(func() {
				for failures := 0; ; {
					free <- struct{}{}
					err := w.call(n)
					<-free
					if err == nil {
						mu.Lock()
						done[w.method] = max(done[w.method], time.Since(start))
						mu.Unlock()
						return
					}
					wait := HeldFor(err)
					if w.method == "EnsureLoadBalancer" {
						wait = RetryAfter(err)
					}
					if wait == 0 {
						wait = min(w.first<<min(failures, 10), w.longest)
						failures++
					}
					time.Sleep(wait)
				}
			})
		}
	}
	group.Wait()
	return done
}

// A cloud that is down gets few calls, whatever its errors look like. When the
// cloud works again, the gateway notices within 5 seconds. All work is done at
// most 5 seconds after that. The calls alone would take less than 5 seconds.
func TestCloudThatIsDownGetsOneCallAtATime(t *testing.T) {
	const length = 2 * time.Minute
	for _, tt := range []struct {
		name string
		err  error
		late time.Duration // the time between the end of the outage and the end of a hanging call
	}{
		{"Unavailable", httpError(503), 0},
		{"ConnectionRefused", &url.Error{Op: "Get", URL: "https://cloud", Err: syscall.ECONNREFUSED}, 0},
		{"AsText", errors.New("503 service unavailable"), 0},
		{"Unreadable", errors.New("E1234"), 0},
		{"Denied", httpError(403), 0},
		{"Unauthorized", httpError(401), 0},
		{"TimedOut", context.DeadlineExceeded, 0},
		{"Hangs", errHangs, 2 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOutage(until(length, tt.err))
				g := gateway(t, o.vendor(), Config{ReadTimeout: 40 * time.Second, ChangeTimeout: 40 * time.Second})
				done := do(silentNodes(t.Context(), g, 500), newNodes(t.Context(), g, 50), services(t.Context(), g, 100, inOneNamespace))
				var found time.Duration
				for _, m := range o.calls {
					if m.at >= length {
						found = m.at - length
						break
					}
				}
				t.Logf("%d calls, found after %v, done: %v", o.before(length), found, done)
				if n := o.before(length); n > 30 {
					t.Errorf("%d calls in the outage, want at most 30: %v", n, o.calls[:n])
				}
				if found > 5*time.Second {
					t.Errorf("the end was found after %v", found)
				}
				for method, at := range done {
					if at > length+tt.late+10*time.Second {
						t.Errorf("the last %s was done %v after the end of the outage", method, at-length)
					}
				}
			})
		})
	}
}

// If the last answer is less than a second old, more calls have to fail before the
// cloud counts as down.
func TestOutageInTheMiddleOfWork(t *testing.T) {
	const begins, length = 300 * time.Millisecond, 2 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(func(m made) error {
			if m.at < begins {
				return nil
			}
			return until(begins+length, httpError(503))(m)
		})
		g := gateway(t, o.vendor(), Config{})
		do(silentNodes(t.Context(), g, 500), newNodes(t.Context(), g, 50), services(t.Context(), g, 100, inOneNamespace))
		answered := o.before(begins)
		failed := o.before(begins+length) - answered
		t.Logf("%d calls before the outage, %d in it", answered, failed)
		if answered < 20 {
			t.Errorf("%d calls before the outage: there was no work", answered)
		}
		if failed > 70 {
			t.Errorf("%d calls in the outage, want at most 70", failed)
		}
	})
}

// If one part is down, the other parts go on.
func TestPartThatIsDownHoldsNothingElse(t *testing.T) {
	const length = 2 * time.Minute
	down := httpError(503)
	for _, tt := range []struct {
		name  string
		fails func(made) bool
		most  int // calls that may fail
		slow  string
	}{
		{"LoadBalancersOfTenNamespaces", func(m made) bool { return m.method == "EnsureLoadBalancer" }, 40, "EnsureLoadBalancer"},
		{"ExistenceOnly", func(m made) bool { return m.method == "InstanceExists" }, 40, "InstanceExists"},
		{"InitialisationOnly", func(m made) bool { return m.method == "InstanceMetadata" }, 40, "InstanceMetadata"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOutage(func(m made) error {
					if tt.fails(m) {
						return until(length, down)(m)
					}
					return nil
				})
				g := gateway(t, o.vendor(), Config{})
				done := do(silentNodes(t.Context(), g, 500), newNodes(t.Context(), g, 50), services(t.Context(), g, 100, inNamespaces), newRoutesOf(t.Context(), g, 50))
				failed := o.count(func(m made) bool { return m.at < length && tt.fails(m) })
				t.Logf("%d failed calls, done: %v", failed, done)
				if failed > tt.most {
					t.Errorf("%d calls have failed, want at most %d", failed, tt.most)
				}
				for method, at := range done {
					// There is one worker for load balancers, so a hundred of them
					// take 3 seconds.
					if want := 10 * time.Second; method != tt.slow && at > want {
						t.Errorf("the last %s was done after %v, want %v", method, at, want)
					}
					if at > length+10*time.Second {
						t.Errorf("the last %s was done %v after the end", method, at-length)
					}
				}
			})
		})
	}
}

// A cloud works only for short times. It gets few calls while it is down, and the
// work is done while the cloud works.
func TestCloudThatFlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const period, up = 10 * time.Second, 2 * time.Second
		isDown := func(m made) bool { return m.at%period >= up }
		o := newOutage(func(m made) error {
			if isDown(m) {
				return httpError(503)
			}
			return nil
		})
		o.took = time.Second
		g := gateway(t, o.vendor(), Config{})
		done := do(silentNodes(t.Context(), g, 200), newNodes(t.Context(), g, 50), services(t.Context(), g, 10, inNamespaces))
		failed := o.count(isDown)
		t.Logf("%d of %d calls failed, done: %v", failed, len(o.calls), done)
		if cycles := int(done["InstanceExists"]/period) + 1; failed > 70*cycles {
			t.Errorf("%d calls have failed in %d periods", failed, cycles)
		}
	})
}

// If one region is down, the Nodes of another region are not held back.
func TestRegionThatIsDownHoldsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := func(region string, n int) *corev1.Node {
			found := node(region + "-" + strconv.Itoa(n))
			found.Labels = map[string]string{corev1.LabelTopologyRegion: region}
			return found
		}
		o := newOutage(func(m made) error {
			if m.object[0] == 'a' && m.at < time.Minute {
				return httpError(503)
			}
			return nil
		})
		g := gateway(t, o.vendor(), Config{})
		ask := func(region, method string) work {
			return work{method, 100, 16, 10 * time.Second, time.Minute, func(n int) error {
				_, err := g.Instances().Existence(t.Context(), in(region, n))
				return err
			}}
		}
		done := do(ask("a", "a"), ask("b", "b"))
		t.Logf("%v, %d calls in the region that is down", done, o.count(func(m made) bool { return m.object[0] == 'a' && m.at < time.Minute }))
		if done["b"] > 4*time.Second || done["a"] > time.Minute+10*time.Second {
			t.Errorf("the Nodes of the other region were done after %v", done)
		}
	})
}

// A tenant whose calls always fail does not delay others.
func TestTenantWhoseCallsFailHoldsNobody(t *testing.T) {
	for _, err := range []error{httpError(503), httpError(403), errors.New("E1234"), context.DeadlineExceeded} {
		synctest.Test(t, func(t *testing.T) {
			o := newOutage(func(m made) error {
				if m.method == "EnsureLoadBalancer" && m.object[:4] == "evil" {
					return err
				}
				return nil
			})
			g := gateway(t, o.vendor(), Config{})
			for n := range 50 {
				w := services(t.Context(), g, 50, func(int) string { return "evil" })
				if w.call(n) == nil {
					t.Fatal("no error")
				}
			}
			calls := len(o.calls)
			done := do(services(t.Context(), g, 10, inNamespaces), newNodes(t.Context(), g, 10))
			if calls != 50 || done["EnsureLoadBalancer"] > time.Second || done["InstanceMetadata"] > time.Second {
				t.Errorf("%v: %d calls of the tenant; the others were done after %v", err, calls, done)
			}
		})
	}
}

// Nodes that the provider does not know delay only the first new Nodes, and only
// for a short time.
func TestNodesThatAreNotKnownHoldNoOtherForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(func(m made) error {
			if m.object[:3] == "odd" {
				return errNoAnswer
			}
			return nil
		})
		g := gateway(t, o.vendor(), Config{})
		askOdd := func() {
			for n := range 6 {
				_, _ = g.Instances().MetadataAtLowPriority(t.Context(), node("odd-"+strconv.Itoa(n)))
			}
		}
		for n := range 10 {
			askOdd()
			time.Sleep(20 * time.Second)
			askOdd()
			start := time.Now()
			for err := error(nil); err != nil || time.Since(start) == 0; time.Sleep(HeldFor(err)) {
				_, err = g.Instances().Metadata(t.Context(), node("n-"+strconv.Itoa(n)))
			}
			if took := time.Since(start); took > longestPause+firstPause || n > 1 && took > time.Second {
				t.Errorf("Node %d took %v", n, took)
			}
			time.Sleep(20 * time.Second)
		}
	})
}

// If the questions about some Nodes always fail, a new Node still gets its answer within
// minutes, even in a cluster in which hardly anything else is asked.
func TestNodesThatAlwaysFailLeaveRoomForNewOnes(t *testing.T) {
	for name, row := range map[string]struct {
		odd     int
		err     error
		quiet   bool          // no other questions are asked
		longest time.Duration // the longest time until a new Node has its answer
	}{
		"FewWithErrorsThatNobodyCanRead":  {20, errors.New("no such server"), false, 3 * time.Minute},
		"ManyWithErrorsThatNobodyCanRead": {100, errors.New("no such server"), false, 3 * time.Minute},
		"ManyAndNothingElseIsAsked":       {500, errors.New("no such server"), true, time.Minute},
		"ManyWithoutAnAnswer":             {500, errNoAnswer, true, longestPause + firstPause},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOutage(func(m made) error {
					if strings.HasPrefix(m.object, "odd") {
						return row.err
					}
					return nil
				})
				g := gateway(t, o.vendor(), Config{})
				ctx, stop := context.WithCancel(t.Context())
				ask := func(name string) {
					for pause := time.Second; ; pause = min(2*pause, time.Minute) {
						_, err := g.Instances().Metadata(ctx, node(name))
						if err == nil || !sleep.For(ctx, cmp.Or(HeldFor(err), pause)) {
							return
						}
					}
				}
				var odd sync.WaitGroup
				odd.Go(func() { // These calls succeed. A call that was held back is made again.
					for held := time.Duration(0); !row.quiet && sleep.For(ctx, cmp.Or(held, 20*time.Second)); {
						_, err := g.Instances().Existence(ctx, node("known"))
						held = HeldFor(err)
					}
				})
				for n := range row.odd {
					odd.Go(func() { ask("odd-" + strconv.Itoa(n)) })
				}
				time.Sleep(5 * time.Minute)
				for n := range 10 {
					start := time.Now()
					ask("new-" + strconv.Itoa(n))
					if took := time.Since(start); took > row.longest {
						t.Errorf("Node %d took %v", n, took)
					}
					time.Sleep(time.Minute)
				}
				stop()
				odd.Wait()
				time.Sleep(time.Second) // By then, calls that no caller waits for have returned.
			})
		})
	}
}

// After an outage, the only call of a class can be one that always fails. It does not hold
// its class back for ever: then it would be made every five seconds.
func TestObjectThatAlwaysFailsAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const length, pause = time.Minute, 75 * time.Second
		o := newOutage(func(m made) error {
			switch {
			case m.at < length:
				return httpError(503)
			case m.object == "odd":
				return errors.New("no such server")
			}
			return nil
		})
		g := gateway(t, o.vendor(), Config{})
		others := sync.WaitGroup{}
		others.Go(func() { do(newNodes(t.Context(), g, 10)) })
		defer others.Wait()
		for end := time.Now().Add(time.Hour); time.Now().Before(end); {
			_, err := g.Instances().Existence(t.Context(), node("odd"))
			sleep.For(t.Context(), cmp.Or(HeldFor(err), pause))
		}
		if n := o.count(func(m made) bool { return m.at > length && m.object == "odd" }); n > int(time.Hour/pause)+10 {
			t.Errorf("%d calls in an hour", n)
		}
	})
}

// The probe can be a question whether the instance of a Node exists. Even then, the
// answer counts for that Node only: each Node without an error was asked about itself.
func TestProbeIsEvidenceForNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := map[string]bool{}
		var mu sync.Mutex
		calls := 0
		g := gateway(t, vendor{v2: existing(func(_ context.Context, n *corev1.Node) (bool, error) {
			mu.Lock()
			defer mu.Unlock()
			if calls++; calls <= few {
				return false, httpError(503)
			}
			asked[n.Name] = true
			return false, nil
		})}, Config{})
		answers := map[string]bool{}
		var all sync.WaitGroup
		for n := range 10 {
			name := fmt.Sprint("n-", n)
			all.Go(func() {
				if _, err := g.Instances().Existence(t.Context(), node(name)); err == nil {
					mu.Lock()
					defer mu.Unlock()
					answers[name] = true
				}
			})
		}
		all.Wait()
		if len(answers) == 0 || len(answers) == 10 || !maps.Equal(answers, asked) {
			t.Errorf("answers about %v, but the cloud was asked about %v; want the same, and neither none nor all", answers, asked)
		}
	})
}

// A new leader does not know about the outage yet. It needs few questions to find
// out.
func TestNewLeaderFindsAnOutageWithFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const length = time.Minute
		o := newOutage(until(length, httpError(503)))
		ctx, cancel := context.WithCancel(t.Context())
		first := gateway(t, o.vendor(), Config{})
		go func() {
			time.Sleep(length / 2)
			cancel()
		}()
		for ctx.Err() == nil { // The first leader.
			_, err := first.Instances().Metadata(ctx, node("n-"+strconv.Itoa(len(o.calls))))
			sleep.For(ctx, max(HeldFor(err), 100*time.Millisecond))
		}
		before := o.before(length)
		second := gateway(t, o.vendor(), Config{})
		done := do(newNodes(t.Context(), second, 50))
		if n := o.before(length) - before; n > 15 {
			t.Errorf("%d calls of the second leader in 30 s", n)
		}
		if done["InstanceMetadata"] > length/2+10*time.Second {
			t.Errorf("done after %v", done)
		}
	})
}

// In an outage of a few seconds, the question about a Node that waits is only delayed
// and does not fail.
func TestShortOutageIsNotShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(until(2*time.Second, httpError(503)))
		g := gateway(t, o.vendor(), Config{})
		for n := range 3 {
			_, _ = g.Instances().Metadata(t.Context(), node("probe-"+strconv.Itoa(n)))
		}
		if _, err := g.Instances().Metadata(t.Context(), node("n")); err != nil {
			t.Errorf("a Node that waits for the end of the outage: %v", err)
		}
	})
}

// existing is an InstancesV2 that calls the function when it is asked whether an
// instance exists.
type existing func(ctx context.Context, node *corev1.Node) (bool, error)

func (e existing) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	return e(ctx, node)
}

func (existing) InstanceShutdown(context.Context, *corev1.Node) (bool, error) { return false, nil }

func (existing) InstanceMetadata(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	return &cloudprovider.InstanceMetadata{}, nil
}
