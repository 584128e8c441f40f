package route

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	informersv1 "k8s.io/client-go/informers/core/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/frame"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// Name is the controller's name in --controllers and health checks.
const Name = "node-route-controller"

const (
	// queue is the name of the queue in metrics. Upstream has the same name.
	queue = "Routes"
	// tableKey is the only key in the queue of passes.
	tableKey = "table"
	// debounce is the time for which changes of Nodes and routes are collected before
	// the next pass.
	debounce = time.Second
	// maxListings bounds the listings of one pass. No plan needs that many.
	maxListings = 4
	// patchWorkers is the number of conditions that are written at the same time.
	patchWorkers = 16
)

// routes has the calls to the cloud that this package makes.
type routes interface {
	List(ctx context.Context) ([]cloud.Route, error)
	Create(ctx context.Context, hint string, route cloud.Route) error
	Delete(ctx context.Context, route cloud.Route) error
}

// nodes has the requests to the API server that this package makes.
type nodes interface {
	Live(ctx context.Context, name string) (*corev1.Node, error)
	PatchStatus(ctx context.Context, name string, p kube.NodeStatusPatch) (*corev1.Node, error)
}

// recorder records events. An event about stray routes is recorded on the Lease of
// the process, because these routes have no Node.
type recorder interface {
	Node(node *corev1.Node, eventType, reason, message string)
	Lease(lease types.NamespacedName, eventType, reason, message string)
}

// Config configures the controller. Clusters is required. All other fields can have
// their zero values.
type Config struct {
	// Clusters are the CIDRs of the pods. Routes outside of them are not removed.
	Clusters []netip.Prefix
	// Syncs is the maximum number of jobs at the same time; 0 means 1.
	Syncs int
	// Period is the time between two regular listings of the routes, give or take a
	// tenth; 0 means a minute.
	Period time.Duration
	// Limits restrict the creation and removal of routes; see DefaultLimits.
	Limits Limits
	// Claim says which Nodes belong to this daemon.
	Claim ownership.Claim
	// Lease is the object for events that belong to no Node.
	Lease types.NamespacedName
	// Metrics may be nil.
	Metrics *Metrics
	// Clock is for tests; nil means the real one.
	Clock clock.WithTicker
}

// Deps are the controller's dependencies. All of them are required.
type Deps struct {
	Nodes    nodes
	Informer informersv1.NodeInformer
	Routes   routes
	Events   recorder
}

// Controller keeps the cloud's routes in line with the Nodes.
type Controller struct {
	deps     Deps
	cfg      Config // with the defaults
	informer cache.SharedIndexInformer
	lister   listersv1.NodeLister

	passes, jobs, patches *loop.Loop

	mu            sync.Mutex
	memory        memory                    // guarded by mu
	changed       time.Time                 // when a Node last changed; guarded by mu
	planned       time.Time                 // the value of changed that the last pass knew; guarded by mu
	queuedPatches map[string]conditionPatch // by Node; guarded by mu
	holds         bool                      // the controller has reported that the budget keeps routes; guarded by mu
}

// New returns a controller. The controller does nothing before Run.
func New(deps Deps, cfg Config) *Controller {
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Metrics == nil {
		cfg.Metrics = newMetrics()
	}
	if cfg.Period == 0 {
		cfg.Period = time.Minute
	}
	c := &Controller{
		deps:          deps,
		cfg:           cfg,
		informer:      deps.Informer.Informer(),
		lister:        deps.Informer.Lister(),
		memory:        newMemory(),
		queuedPatches: map[string]conditionPatch{},
	}
	c.passes = loop.New(queue, c.pass, loop.Config{Workers: 1, Clock: cfg.Clock})
	c.jobs = loop.New("route_changes", c.change, loop.Config{Workers: cfg.Syncs, Clock: cfg.Clock})
	c.patches = loop.New("route_conditions", c.patch, loop.Config{Workers: patchWorkers, Clock: cfg.Clock})
	return c
}

// Run works until the context ends, and returns when all calls have returned. No pass
// begins before all Nodes are known. Otherwise the controller could remove a route
// whose Node the informer has not shown yet.
func (c *Controller) Run(ctx context.Context) error {
	known, stop, err := c.Follow(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if cache.WaitForCacheSync(ctx.Done(), known) {
		defer c.cfg.Metrics.start(c.cfg.Clock)()
		c.passes.Add(tableKey)
	}
	var all sync.WaitGroup
	for _, l := range []*loop.Loop{c.passes, c.jobs, c.patches} {
		all.Go(func() { _ = l.Run(ctx) }) // Run returns no error of its own.
	}
	all.Wait()
	return nil
}

// Follow watches all Nodes until stop is called. The returned function, known, reports
// whether the controller has seen all existing Nodes. Run calls Follow itself.
func (c *Controller) Follow(_ context.Context) (known cache.InformerSynced, stop func(), err error) {
	return frame.Watch(c.informer, "nodes", c.onNode)
}

// Stuck returns an error that names the passes, jobs and patches that have lasted
// longer than the limit.
func (c *Controller) Stuck(limit time.Duration) error {
	return errors.Join(c.passes.Stuck(limit), c.jobs.Stuck(limit), c.patches.Stuck(limit))
}

// pass plans the whole table. Its steps are:
//   - observe the Nodes, the newest listing, and the changes that this process has
//     made since then
//   - decide
//   - list the routes and start again, if the plan asks for it
//   - apply the plan
func (c *Controller) pass(ctx context.Context, _ string) (loop.Result, error) {
	changed, trigger := c.lastChange()
	o, p, err := c.decide(ctx, changed, (*memory).planned)
	if err != nil {
		return loop.Result{}, err
	}
	c.apply(ctx, p)
	c.cfg.Metrics.synced(outcomeOf(o, p), trigger)
	return loop.Result{After: max(p.after, debounce)}, nil
}

// lastChange returns the time when a Node last changed, and the trigger of this pass.
func (c *Controller) lastChange() (time.Time, trigger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := triggerPeriodic
	if c.changed.After(c.planned) {
		t = triggerNodeChange
	}
	c.planned = c.changed
	return c.changed, t
}

// onNode requests a pass after a Node has changed; see rules_wake.go.
func (c *Controller) onNode(_ string, before, now *corev1.Node) {
	switch {
	case now == nil && before == nil: // The informer has missed the deletion, and does not know what was deleted.
	case now == nil:
		c.nodeDeleted(before)
		c.wake(wakeRoutes)
	case before == nil:
		c.wake(wakeRoutes)
	default:
		if isReplaced(before, now) {
			c.nodeDeleted(before)
		}
		c.nodeChanged(before, now)
		c.wake(wakeOf(c.cfg.Claim, before, now))
	}
}

func (c *Controller) nodeDeleted(node *corev1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memory.nodeDeleted(node, c.cfg.Clock.Now())
}

func (c *Controller) nodeChanged(before, now *corev1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memory.nodeChanged(before, now, c.cfg.Clock.Now())
}

// wake requests a pass.
func (c *Controller) wake(w wake) {
	if w == noWake {
		return
	}
	if w == wakeRoutes {
		c.mu.Lock()
		c.changed = c.cfg.Clock.Now()
		c.mu.Unlock()
	}
	c.passes.AddAfter(tableKey, debounce)
}
