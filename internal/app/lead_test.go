package app

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/component-base/metrics"
	"k8s.io/controller-manager/pkg/clientbuilder"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
)

// fakeController runs a function; live is its answer to whether it is stuck.
type fakeController struct {
	run  func(context.Context) error
	live error
}

func (f *fakeController) Run(ctx context.Context) error { return f.run(ctx) }

func (f *fakeController) Live() error { return f.live }

func untilStopped(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// diary notes what happens, in order.
type diary struct {
	mu      sync.Mutex
	entries []string // guarded by mu
}

func (d *diary) note(entry string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, entry)
}

// nobody makes clients of an API server that does not answer.
func nobody() clients {
	builder := clientbuilder.SimpleControllerClientBuilder{ClientConfig: &rest.Config{Host: "http://127.0.0.1:1"}}
	return clients{builder, builder}
}

// newTestProcess returns a process that nobody answers, and the context of its
// work.
func newTestProcess(t *testing.T, theirs *fakeCloud, known table) (*process, context.Context) {
	t.Helper()
	ctx, fail := context.WithCancelCause(t.Context())
	held := built{informers: informers.NewSharedInformerFactory(fake.NewClientset(), 0)}
	if theirs != nil {
		held.cloud = made(t, theirs)
	}
	p := &process{
		options:   newOptions(ours, known),
		clients:   nobody(),
		holder:    &holder{built: held},
		informers: informers.NewSharedInformerFactory(fake.NewClientset(), 0),
		registry:  metrics.NewKubeRegistry(),
		fail:      fail,
	}
	p.gateway.Store(&cloud.Gateway{})
	p.options.provider.name = "test"
	p.health = newHealth(healthSources{
		draining:     ctx.Done(),
		apiServer:    reachable{},
		informers:    p.informers,
		initializing: p.initializing.Load,
		notes:        []note{{"cloud", p.cloudState}},
	})
	return p, ctx
}

func register(name string, c controller) registration {
	return registration{name: name, onByDefault: true, start: func(context.Context, deps) (controller, error) { return c, nil }}
}

func TestOrderOfStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		cloud := &fakeCloud{
			initialize:   func(<-chan struct{}) { d.note("Initialize") },
			setInformers: func(informers.SharedInformerFactory) { d.note("SetInformers") },
		}
		known := table{{name: "a", onByDefault: true, start: func(context.Context, deps) (controller, error) {
			d.note("start a")
			return &fakeController{run: func(ctx context.Context) error {
				d.note("run a")
				return untilStopped(ctx)
			}}, nil
		}}}
		p, ctx := newTestProcess(t, cloud, known)
		time.AfterFunc(time.Minute, func() {
			if _, body := get(p.health.healthz, "/healthz?verbose"); !strings.Contains(body, "[+]a ok") {
				t.Errorf("healthz does not show what runs: %s", body)
			}
			p.fail(nil)
		})
		p.lead(ctx)
		if diff := cmp.Diff([]string{"Initialize", "SetInformers", "start a", "run a"}, d.entries); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestStartIntervalSpreadsTheControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var second time.Duration
		p, ctx := newTestProcess(t, &fakeCloud{}, table{
			register("a", &fakeController{run: untilStopped}),
			register("b", &fakeController{run: func(ctx context.Context) error {
				second = time.Since(began)
				return untilStopped(ctx)
			}}),
		})
		p.options.controllers.startInterval = 10 * time.Second
		time.AfterFunc(time.Minute, func() { p.fail(nil) })
		p.lead(ctx)
		if second < 10*time.Second || second > 20*time.Second {
			t.Errorf("the second controller started after %v, want 10s to 20s", second)
		}
	})
}

// brokenInstances panics.
type brokenInstances struct{ cloudprovider.InstancesV2 }

func (brokenInstances) InstanceMetadata(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	panic("broken")
}

func TestFailuresEndTheProcess(t *testing.T) {
	fails := func(err error) *fakeController {
		return &fakeController{run: func(context.Context) error { return err }}
	}
	for _, tc := range []struct {
		name  string
		cloud fakeCloud
		known table
		want  string
	}{
		{
			name:  "InitializePanics",
			cloud: fakeCloud{initialize: func(<-chan struct{}) { panic("broken") }},
			want:  `cloud provider "test": Initialize panicked: broken`,
		},
		{
			name:  "SetInformersPanics",
			cloud: fakeCloud{setInformers: func(informers.SharedInformerFactory) { panic("broken") }},
			want:  `cloud provider "test": SetInformers panicked: broken`,
		},
		{
			name: "ControllerCannotStart",
			known: table{{name: "a", onByDefault: true, start: func(context.Context, deps) (controller, error) {
				return nil, errors.New("no permission")
			}}},
			want: `starting "a": no permission`,
		},
		{
			name:  "ControllerEndsWithAnError",
			known: table{register("a", fails(errors.New("broken"))), register("b", &fakeController{run: untilStopped})},
			want:  `controller "a" ended: broken`,
		},
		{
			name:  "ControllerEndsWithoutAnError",
			known: table{register("a", fails(nil))},
			want:  `controller "a" ended: no reason given`,
		},
		{
			name:  "ProviderIsDamaged",
			cloud: fakeCloud{instances: brokenInstances{}},
			known: table{{name: "a", onByDefault: true, start: func(_ context.Context, d deps) (controller, error) {
				return &fakeController{run: func(ctx context.Context) error {
					for range 3 {
						_, _ = d.gateway.Instances().Metadata(ctx, &corev1.Node{})
					}
					return untilStopped(ctx)
				}}, nil
			}}},
			want: "the provider has panicked 3 times, last in InstanceMetadata: broken",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, ctx := newTestProcess(t, &tc.cloud, tc.known)
				if err := hold(ctx, nil, p.lead); err != nil {
					t.Errorf("the work did not end: %v", err)
				}
				if got := context.Cause(ctx).Error(); got != tc.want {
					t.Errorf("got  %q\nwant %q", got, tc.want)
				}
			})
		})
	}
}

func TestControllersWithNothingToDoAreNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, ctx := newTestProcess(t, &fakeCloud{}, table{
			{name: "a", onByDefault: true, start: func(context.Context, deps) (controller, error) {
				return nil, skip("the provider has no instances")
			}},
			{name: "not-in-this-version", onByDefault: true},
		})
		time.AfterFunc(time.Minute, func() { p.fail(errors.New("planned")) })
		p.lead(ctx)
		if got := context.Cause(ctx).Error(); got != "planned" {
			t.Errorf("ended because of %q", got)
		}
	})
}

func TestProviderThatHangs(t *testing.T) {
	var release chan struct{}
	for name, theirs := range map[string]*fakeCloud{
		"Initialize":   {initialize: func(<-chan struct{}) { <-release }},
		"SetInformers": {setInformers: func(informers.SharedInformerFactory) { <-release }},
		"Accessor":     {accessor: func() { <-release }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release = make(chan struct{})
				p, ctx := newTestProcess(t, theirs, nil)
				time.AfterFunc(time.Minute, func() {
					if status, body := get(p.health.readyz, "/readyz"); status != 500 || !strings.Contains(body, "[-]cloud-provider failed") {
						t.Errorf("readyz answers %d %s", status, body)
					}
					p.fail(nil)
				})
				// The provider may still be at work, so the lease must not be free.
				if err := hold(ctx, nil, p.lead); !errors.Is(err, errNotDrained) {
					t.Errorf("got %v, want %v", err, errNotDrained)
				}
				close(release)
			})
		})
	}
}

func TestInitializeGetsTheEndOfTheLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		p, ctx := newTestProcess(t, &fakeCloud{initialize: func(stop <-chan struct{}) {
			go func() {
				<-stop
				close(ended)
			}()
		}}, nil)
		time.AfterFunc(time.Minute, func() { p.fail(nil) })
		p.lead(ctx)
		<-ended
	})
}

func TestProviderInformersAreInSyncBeforeTheFirstCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	factory := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	nodes := factory.Core().V1().Nodes().Informer()
	startProviderInformers(ctx, factory)
	if !nodes.HasSynced() {
		t.Error("the provider's informer is not in sync")
	}
	cancel()
	factory.Shutdown()
}

// A controller whose flags are wrong must not stop the others, unless it was
// asked for by its name.
func TestMisconfiguredController(t *testing.T) {
	broken := registration{name: "broken", alias: "b", onByDefault: true, start: func(context.Context, deps) (controller, error) {
		return nil, misconfigured{errors.New("--flag is wrong")}
	}}
	for _, tc := range []struct {
		name   string
		chosen []string
		ends   bool
	}{
		{"ByDefault", []string{"*"}, false},
		{"ByName", []string{"*", "broken"}, true},
		{"ByAlias", []string{"*", "b"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := false
				other := &fakeController{run: func(ctx context.Context) error {
					ran = true
					return untilStopped(ctx)
				}}
				p, ctx := newTestProcess(t, &fakeCloud{}, table{broken, register("other", other)})
				p.metrics.misconfigured = metrics.NewGaugeVec(&metrics.GaugeOpts{Name: "misconfigured"}, []string{"name"})
				p.options.controllers.chosen = tc.chosen
				why := ""
				time.AfterFunc(time.Minute, func() {
					_, why = get(p.health.readyz, "/readyz?verbose")
					p.fail(nil)
				})
				p.lead(ctx)
				err := context.Cause(ctx)
				switch {
				case tc.ends && (err == nil || ran || !strings.Contains(err.Error(), `starting "broken": --flag is wrong`)):
					t.Errorf("it ends with %v; the other has run: %v", err, ran)
				case !tc.ends && (!ran || !strings.Contains(why, "[i]broken: does not run: --flag is wrong\n")):
					t.Errorf("the other has run: %v; readiness says:\n%s", ran, why)
				}
			})
		})
	}
}
