package daemon

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/component-base/metrics"
	"k8s.io/controller-manager/pkg/clientbuilder"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/daemon/election"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider"
	"github.com/fairlead-k8s/fairlead/internal/daemon/provider/providertest"
	"github.com/fairlead-k8s/fairlead/internal/daemon/serving"
	"github.com/fairlead-k8s/fairlead/internal/daemon/settings"
)

// fakeController is a controller for tests. Its method Run calls a function, and its
// method Live returns an error.
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

// diary records what happens, in order.
type diary struct {
	mu      sync.Mutex
	entries []string // guarded by mu
}

func (d *diary) note(entry string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, entry)
}

// unreachable returns clients of an API server that does not answer.
func unreachable() clients {
	builder := clientbuilder.SimpleControllerClientBuilder{ClientConfig: &rest.Config{Host: "http://127.0.0.1:1"}}
	return clients{own: builder, each: builder}
}

// newTestProcess returns a process without an API server, and the context of its
// work.
func newTestProcess(t *testing.T, theirs *providertest.Cloud, known table) (*Process, context.Context) {
	t.Helper()
	return newTestProcessOf(t, theirs, newProgram(plain, known))
}

func newTestProcessOf(t *testing.T, theirs *providertest.Cloud, what *Program) (*Process, context.Context) {
	t.Helper()
	ctx, fail := context.WithCancelCause(t.Context())
	p := &Process{
		Program:   what,
		clients:   unreachable(),
		informers: informers.NewSharedInformerFactory(fake.NewClientset(), 0),
		Registry:  metrics.NewKubeRegistry(),
		fail:      fail,
	}
	p.use(t, theirs, informers.NewSharedInformerFactory(fake.NewClientset(), 0))
	p.gateway.Store(&cloud.Gateway{})
	p.Settings.Provider.Name = "test"
	sources := p.sources(ctx, fake.NewClientset())
	sources.APIServer = healthz.NamedCheck("api-server", healthz.PingHealthz.Check)
	p.health = serving.NewHealth(sources)
	return p, ctx
}

// use makes the given provider the current provider of the process.
func (p *Process) use(t *testing.T, theirs *providertest.Cloud, i informers.SharedInformerFactory) {
	p.current = provider.NewCurrent(nil, provider.Made{Cloud: providertest.Made(t, theirs), Informers: i}, time.Minute, provider.Self{})
}

// get requests a path of the process's probes.
func get(p *Process, path string) (int, string) {
	w := httptest.NewRecorder()
	p.health.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// parse parses the arguments and applies the program's defaults.
func parse(t *testing.T, p *Program, args ...string) {
	t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	p.Settings.AddFlags(flags)
	if err := flags.Parse(append([]string{"--cloud-provider=test"}, args...)); err != nil {
		t.Fatal(err)
	}
	p.Settings.ApplyDefaults()
}

// parsed returns the program with the given flags.
func parsed(t *testing.T, args string) *Program {
	t.Helper()
	p := newProgram(plain, ours())
	parse(t, p, strings.Fields(args)...)
	return p
}

// runs returns the registration of a controller that exists in tests only.
func runs(name string, s start) registration {
	return registration{Controller: settings.Controller{Name: name}, start: func(*settings.Settings) start { return s }}
}

func register(name string, c Runner) registration {
	return runs(name, func(context.Context, deps) (Runner, error) { return c, nil })
}

func TestOrderOfStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		cloud := &providertest.Cloud{
			OnInitialize:   func(<-chan struct{}) { d.note("Initialize") },
			OnSetInformers: func(informers.SharedInformerFactory) { d.note("SetInformers") },
		}
		known := table{runs("a", func(context.Context, deps) (Runner, error) {
			d.note("start a")
			return &fakeController{run: func(ctx context.Context) error {
				d.note("run a")
				return untilStopped(ctx)
			}}, nil
		})}
		p, ctx := newTestProcess(t, cloud, known)
		time.AfterFunc(time.Minute, func() {
			if _, body := get(p, "/healthz?verbose"); !strings.Contains(body, "[+]a ok") {
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
		p, ctx := newTestProcess(t, &providertest.Cloud{}, table{
			register("a", &fakeController{run: untilStopped}),
			register("b", &fakeController{run: func(ctx context.Context) error {
				second = time.Since(began)
				return untilStopped(ctx)
			}}),
		})
		parse(t, p.Program, "--controller-start-interval=10s")
		time.AfterFunc(time.Minute, func() { p.fail(nil) })
		p.lead(ctx)
		if second < 10*time.Second || second > 20*time.Second {
			t.Errorf("the second controller started after %v, want 10s to 20s", second)
		}
	})
}

// brokenInstances panics when it is asked for metadata.
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
		cloud providertest.Cloud
		known table
		want  string
	}{
		{
			name:  "InitializePanics",
			cloud: providertest.Cloud{OnInitialize: func(<-chan struct{}) { panic("broken") }},
			want:  `cloud provider "test": Initialize panicked: broken`,
		},
		{
			name:  "SetInformersPanics",
			cloud: providertest.Cloud{OnSetInformers: func(informers.SharedInformerFactory) { panic("broken") }},
			want:  `cloud provider "test": SetInformers panicked: broken`,
		},
		{
			name: "ControllerCannotStart",
			known: table{runs("a", func(context.Context, deps) (Runner, error) {
				return nil, errors.New("no permission")
			})},
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
			cloud: providertest.Cloud{V2: brokenInstances{}},
			known: table{runs("a", func(_ context.Context, d deps) (Runner, error) {
				return &fakeController{run: func(ctx context.Context) error {
					for _, name := range []string{"a", "b", "c"} {
						_, _ = d.gateway.Instances().Metadata(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
					}
					return untilStopped(ctx)
				}}, nil
			})},
			want: "the provider has panicked for 3 objects within 10m0s, last in InstanceMetadata: broken",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, ctx := newTestProcess(t, &tc.cloud, tc.known)
				if err := election.Hold(ctx, nil, p.lead); err != nil {
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
		p, ctx := newTestProcess(t, &providertest.Cloud{}, table{
			runs("a", func(context.Context, deps) (Runner, error) {
				return nil, skip("the provider has no instances")
			}),
			{Controller: settings.Controller{Name: "not-in-this-version"}},
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
	for name, theirs := range map[string]*providertest.Cloud{
		"Initialize":   {OnInitialize: func(<-chan struct{}) { <-release }},
		"SetInformers": {OnSetInformers: func(informers.SharedInformerFactory) { <-release }},
		"Accessor":     {OnAccessor: func() { <-release }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release = make(chan struct{})
				p, ctx := newTestProcess(t, theirs, nil)
				time.AfterFunc(time.Minute, func() {
					if status, body := get(p, "/readyz"); status != 500 || !strings.Contains(body, "[-]cloud-provider failed") {
						t.Errorf("readyz answers %d %s", status, body)
					}
					p.fail(nil)
				})
				// The provider may still be at work, so the lease must not be free.
				if err := election.Hold(ctx, nil, p.lead); !errors.Is(err, election.ErrNotDrained) {
					t.Errorf("got %v, want %v", err, election.ErrNotDrained)
				}
				close(release)
			})
		})
	}
}

// The provider's goroutines go on until our last call has ended, but a provider that waits
// for their end before it has opened returns at once.
func TestInitializeGetsTheEndOfTheLeadership(t *testing.T) {
	const goroutine, initialize, accessor = "Goroutine", "Initialize", "Accessor"
	for waits, want := range map[string]time.Duration{goroutine: 2 * time.Minute, initialize: time.Minute, accessor: time.Minute} {
		t.Run(waits, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var stop <-chan struct{}
				var ended time.Duration
				began := time.Now()
				await := func(where string) {
					if where == waits {
						<-stop
						ended = time.Since(began)
					}
				}
				p, ctx := newTestProcess(t, &providertest.Cloud{
					OnInitialize: func(end <-chan struct{}) {
						stop = end
						go await(goroutine)
						await(initialize)
					},
					OnAccessor: func() { await(accessor) },
				}, table{register("works", &fakeController{run: func(ctx context.Context) error {
					<-ctx.Done()
					time.Sleep(time.Minute)
					return nil
				}})})
				time.AfterFunc(time.Minute, func() { p.fail(nil) })
				p.lead(ctx)
				synctest.Wait()
				if ended != want {
					t.Errorf("the provider's goroutines end after %v, want %v", ended, want)
				}
			})
		})
	}
}

// A controller whose flags are wrong must not stop the others, unless --controllers
// names it.
func TestMisconfiguredController(t *testing.T) {
	broken := runs("broken", func(context.Context, deps) (Runner, error) {
		return nil, misconfigured{errors.New("--flag is wrong")}
	})
	broken.Alias = "b"
	for _, tc := range []struct {
		name   string
		chosen string
		ends   bool
	}{
		{"ByDefault", "*", false},
		{"ByName", "*,broken", true},
		{"ByAlias", "*,b", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran := false
				other := &fakeController{run: func(ctx context.Context) error {
					ran = true
					return untilStopped(ctx)
				}}
				p, ctx := newTestProcess(t, &providertest.Cloud{}, table{broken, register("other", other)})
				p.metrics.misconfigured = metrics.NewGaugeVec(&metrics.GaugeOpts{Name: "misconfigured"}, []string{"name"})
				parse(t, p.Program, "--controllers="+tc.chosen)
				why := ""
				time.AfterFunc(time.Minute, func() {
					_, why = get(p, "/readyz?verbose")
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
