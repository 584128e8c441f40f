package walks_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/ipam"
	"github.com/fairlead-k8s/fairlead/internal/controller/node"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodelifecycle"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/controller/route"
	"github.com/fairlead-k8s/fairlead/internal/controller/service"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/test/quirks"
)

// world has everything that one path needs: a cluster, a cloud and the daemon between
// them. It runs in testing/synctest, which has its own time.
type world struct {
	t       *testing.T
	r       *rand.Rand // chooses the events of the path; only the goroutine of the path uses it
	habits  []quirks.Quirk
	cluster *fake.Clientset
	began   time.Time
	stop    func() // of the daemon; nil while it does not run

	mu       sync.Mutex
	path     []string                    // what has happened, and the calls about Services; guarded by mu
	steps    int                         // of the path, without the calls; guarded by mu
	failed   bool                        // guarded by mu
	version  int                         // of the last write; guarded by mu
	serial   int                         // of the last object, machine or address; guarded by mu
	machines map[string]*machine         // by ID; guarded by mu
	balance  map[types.UID]*balancer     // the cloud's load balancers by Service; guarded by mu
	services map[types.UID]*serviceTrail // what the checks know of each Service; guarded by mu
	nodes    map[types.UID]*nodeTrail    // what the checks know of each Node; guarded by mu
	reached  map[string]bool             // the reasons of the events and conditions; guarded by mu
	busy     map[types.UID]string        // the call under way about a Service; guarded by mu
	weather  weather                     // of the cloud; guarded by mu
	refusal  refusal                     // of the API server; guarded by mu
	punctual chan struct{}               // closed unless the API server's watches are late; guarded by mu
	// punctualSince is the time since which they are not late any more; guarded by mu
	punctualSince time.Time
	luck          *rand.Rand        // decides which calls and writes are lost; guarded by mu
	hints         hints             // of the provider; the set of fast paths that it offers does not change; guarded by mu
	mood          *rand.Rand        // chooses the hints; guarded by mu
	running       bool              // whether the daemon runs; guarded by mu
	pods          bool              // whether the daemon gives Nodes their pod CIDRs and makes routes; it does not change
	options       options           // of the daemon; they do not change
	table         map[string]string // the cloud's routes: the Node's name by CIDR; guarded by mu
	routing       map[string]string // the call under way about a route, by CIDR; guarded by mu
}

// newWorld returns a world without Nodes and Services. The daemon does not run yet.
func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{
		t: t, r: rand.New(rand.NewPCG(1, seed)), luck: rand.New(rand.NewPCG(2, seed)), // the test has to be repeatable
		cluster: fake.NewSimpleClientset(), // a client with managed fields would take most of the time
		began:   time.Now(), machines: map[string]*machine{}, balance: map[types.UID]*balancer{},
		services: map[types.UID]*serviceTrail{}, nodes: map[types.UID]*nodeTrail{}, busy: map[types.UID]string{}, reached: map[string]bool{},
		table: map[string]string{}, routing: map[string]string{}, version: 1000, weather: fair, refusal: accepts,
		punctual: make(chan struct{}),
	}
	close(w.punctual)
	w.mood = rand.New(rand.NewPCG(3, seed))
	w.hints = w.newHints()
	w.cluster.PrependReactor("*", "nodes", w.serve)
	w.cluster.PrependReactor("*", "services", w.serve)
	w.cluster.PrependWatchReactor("*", w.watch)
	return w
}

// options are options of the daemon: it always shows the condition CloudInitialized, or it
// keeps Nodes whose machines are gone. claim says which Nodes are its own.
type options struct {
	shows, keeps bool
	claim        ownership.Claim
}

// populate gives the provider some quirks, and makes some Nodes.
func (w *world) populate() {
	w.habits, w.pods = w.someHabits(), w.mood.IntN(2) == 0
	w.options = options{shows: w.mood.IntN(4) == 0, keeps: w.mood.IntN(12) == 0}
	if w.mood.IntN(4) == 0 && !slices.ContainsFunc(groups[0], w.has) { // which change the scheme
		w.options.claim.Schemes = []string{"p"}
	}
	w.locked(func() {
		w.happen("habits %s; batches %v, lists %v, watches %v; pods %v, options %+v", w.habitNames(), w.hints.batches, w.hints.lists, w.hints.watches, w.pods, w.options)
	})
	for i := range 3 {
		w.join(fmt.Sprintf("n%d", i), ofCloud)
	}
}

// groups lists groups of quirks. A provider has at most one quirk of each group.
var groups = [][]quirks.Quirk{
	{quirks.SpellsIDsWith("other"), quirks.IDsWithoutScheme},
	{quirks.LabelsOnlyOnce, quirks.LabelsSometimesNil},
	{quirks.GoneIsAnError, quirks.CachesExistence, quirks.GoneIsNotFound},
	{quirks.EchoesStatus},
	{quirks.DeletesByAddress, quirks.JoinsElsewhere},
	{quirks.QuotesService},
	{quirks.ThrottlesInside},
	{quirks.PanicsFor(odd)},
	{quirks.ListsTwoTables},
	{quirks.AddressesSometimesGone, quirks.ShufflesAddresses, quirks.FormatsNil},
}

// odd is the name of a Node and of a Service. A provider with the quirk PanicsFor panics
// when it is asked about either.
const odd = "odd"

func (w *world) someHabits() (habits []quirks.Quirk) {
	for _, group := range groups {
		if i := w.r.IntN(len(group) + 2); i < len(group) {
			habits = append(habits, group[i])
		}
	}
	return habits
}

func (w *world) has(habit quirks.Quirk) bool {
	for _, h := range w.habits {
		if h.Name == habit.Name {
			return true
		}
	}
	return false
}

func (w *world) habitNames() string {
	var names []string
	for _, h := range w.habits {
		names = append(names, h.Name)
	}
	return strings.Join(names, ", ")
}

// start starts the daemon as a new process would: with a new provider and without memory.
func (w *world) start() {
	w.noteStart()
	ctx, cancel := context.WithCancel(klog.NewContext(w.t.Context(), klog.New(nil)))
	made, err := cloud.Make(ctx, func(context.Context) (cloudprovider.Interface, error) {
		wrapped := quirks.Wrap(vendor{w: w}, w.habits...)
		wrapped.UseClient(w.cluster)
		return observer{wrapped, w}, nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	gateway, err := made.Open(ctx, cloud.Config{WithoutRoutes: !w.pods})
	if err != nil {
		w.t.Fatal(err)
	}
	limits := nodelifecycle.DefaultLimits()
	limits.Off, limits.NotFoundIsAbsent = w.options.keeps, w.has(quirks.GoneIsNotFound)
	informers := kube.NewInformerFactory(w.cluster, 0, service.Policy{}.IsServed)
	nodes, services := informers.Core().V1().Nodes(), informers.Core().V1().Services()
	controllers := []interface {
		Run(ctx context.Context) error
	}{
		node.New(use(node.Deps{Nodes: kube.NewNodes(ctx, w.cluster, nodes), Informer: nodes, Instances: gateway.Instances(), Events: w}, gateway.Instances()),
			node.Config{Reads: 16, Refreshers: 4, Refresh: 5 * time.Minute, Labels: node.LabelPolicy{Type: true, Additional: true}, AlwaysShow: w.options.shows, Claim: w.options.claim}),
		nodelifecycle.New(nodelifecycle.Deps{Nodes: kube.NewNodes(ctx, w.cluster, nodes), Informer: nodes, Instances: gateway.Instances(), Events: w},
			nodelifecycle.Config{Reads: 16, Limits: limits, Claim: w.options.claim}),
		service.New(service.Deps{Services: kube.NewServices(ctx, w.cluster, services, service.Policy{}.IsServed), Informer: services, Nodes: nodes, Balancers: gateway.LoadBalancers(), Events: w},
			service.Config{Backends: service.BackendPolicy{SkipUninitialized: true}}),
	}
	if w.pods {
		controllers = append(controllers,
			route.New(route.Deps{Nodes: kube.NewNodes(ctx, w.cluster, nodes), Informer: nodes, Routes: gateway.Routes(), Events: w}, w.routeConfig()),
			ipam.New(ipam.Deps{Nodes: kube.NewNodes(ctx, w.cluster, nodes), Informer: nodes, Events: w}, ipam.Config{Claim: w.options.claim, Families: families, Reserved: []netip.Prefix{reserved}}))
	}
	informers.StartWithContext(ctx)
	var running sync.WaitGroup
	for _, c := range controllers {
		running.Go(func() {
			if err := c.Run(ctx); err != nil {
				w.t.Errorf("Run: %v", err)
			}
		})
	}
	w.stop = func() {
		cancel()
		running.Wait()
		gateway.AwaitChanges()
		informers.Shutdown()
		w.stop = nil
		w.locked(func() {
			w.happen("the daemon has ended")
			w.running = false
		})
	}
	synctest.Wait()
}

// after records which machines have changed, and then lets the time d pass.
func (w *world) after(d time.Duration) {
	w.locked(w.look)
	time.Sleep(d)
	synctest.Wait()
}

// happen records an event of the path as one of its steps. The caller holds mu.
func (w *world) happen(format string, arguments ...any) {
	w.steps++
	w.note(format, arguments...)
}

// note adds a line to the record of the path. The line does not count as a step. The
// caller holds mu.
func (w *world) note(format string, arguments ...any) {
	w.path = append(w.path, fmt.Sprintf("%7.1fs ", time.Since(w.began).Seconds())+fmt.Sprintf(format, arguments...))
}

// broken reports that a promise is broken. Only the first broken promise of a
// path counts, because others often follow from it. The caller holds mu.
func (w *world) broken(format string, arguments ...any) {
	if w.failed {
		return
	}
	w.failed = true
	w.t.Errorf("%7.1fs %s", time.Since(w.began).Seconds(), fmt.Sprintf(format, arguments...))
}

func (w *world) locked(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) hasFailed() (failed bool) {
	w.locked(func() { failed = w.failed })
	return failed
}

// next returns a unique number. The caller holds mu.
func (w *world) next() int {
	w.serial++
	return w.serial
}

// address returns a unique address. The caller holds mu.
func (w *world) address() string {
	n := w.next()
	return netip.AddrFrom4([4]byte{192, 0, byte(n >> 8), byte(n)}).String()
}

// Node implements the recorders of the controllers.
func (w *world) Node(n *corev1.Node, _, reason, _ string) {
	w.locked(func() {
		w.reached[reason] = true
		// With AddressesSometimesGone, the cloud gives cause for this event for ever.
		if trail := w.nodes[n.UID]; trail != nil && (reason != "CloudAddressesMissing" || !w.has(quirks.AddressesSometimesGone)) {
			trail.events = append(trail.events, reason)
		}
	})
}

// Service implements the recorder of the service controller.
func (w *world) Service(s *corev1.Service, _, reason, _ string) {
	w.locked(func() {
		w.reached[reason] = true
		if trail := w.services[s.UID]; trail != nil {
			trail.events = append(trail.events, reason)
		}
	})
}
