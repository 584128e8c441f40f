package route

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	informersv1 "k8s.io/client-go/informers/core/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// Name is the controller's name in --controllers and health checks.
const Name = "node-route-controller"

const (
	// queue is the name of the queue in metrics; it is upstream's.
	queue = "Routes"
	// table is the one key of the loop that plans.
	table = "table"
	// quiet is how long changes of Nodes and of routes are gathered before the
	// table is planned anew.
	quiet = time.Second
	// looks bounds the listings of one pass: no plan needs as many.
	looks = 4
	// writers is how many conditions are written at once.
	writers = 16
)

// routes is the cloud, as far as this package needs it.
type routes interface {
	List(ctx context.Context) ([]cloud.Route, error)
	Create(ctx context.Context, hint string, route cloud.Route) error
	Delete(ctx context.Context, route cloud.Route) error
}

// nodes is the API server, as far as this package needs it.
type nodes interface {
	PatchStatus(ctx context.Context, name string, p kube.NodeStatusPatch) (*corev1.Node, error)
}

// recorder records events. Routes of no Node belong to nobody but the process,
// whose object is its Lease.
type recorder interface {
	Node(node *corev1.Node, eventType, reason, message string)
	Lease(lease types.NamespacedName, eventType, reason, message string)
}

// Config has the numbers of the controller. Its zero values work, but Clusters.
type Config struct {
	// Clusters are the CIDRs inside of which routes may be removed.
	Clusters []netip.Prefix
	// Syncs is how many routes are changed at once; 0 means 1.
	Syncs int
	// Period is how often the cloud is asked for all routes, give or take a
	// tenth; 0 means a minute.
	Period time.Duration
	Limits Limits
	// Lease is the object that events are recorded on which belong to no Node.
	Lease types.NamespacedName
	// Metrics may be nil.
	Metrics *Metrics
	// Clock is for tests; nil means the real one.
	Clock clock.WithTicker
}

// Deps are what the controller cannot do without.
type Deps struct {
	Nodes    nodes
	Informer informersv1.NodeInformer
	Routes   routes
	Events   recorder
}

// Controller keeps the cloud's routes in line with the Nodes.
type Controller struct {
	nodes    nodes
	informer cache.SharedIndexInformer
	lister   listersv1.NodeLister
	routes   routes
	events   recorder
	metrics  *Metrics
	clock    clock.WithTicker
	clusters []netip.Prefix
	period   time.Duration
	limits   Limits
	lease    types.NamespacedName

	plans, jobs, conditions *loop.Loop

	mu       sync.Mutex
	memory   memory                  // guarded by mu
	listing  listing                 // guarded by mu
	asked    time.Time               // since when a question for a listing is under way; guarded by mu
	due      time.Time               // of the next regular listing; guarded by mu
	changed  time.Time               // when a Node last changed; guarded by mu
	planned  time.Time               // which change the last pass knew of; guarded by mu
	todo     map[netip.Prefix]job    // guarded by mu
	verdicts map[string]verdict      // by Node; guarded by mu
	told     map[netip.Prefix]string // the reason that a Node's owner knows; guarded by mu
	crowded  bool                    // and reported; guarded by mu
}

// New returns a controller; it does nothing before Run.
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
		nodes:    deps.Nodes,
		informer: deps.Informer.Informer(),
		lister:   deps.Informer.Lister(),
		routes:   deps.Routes,
		events:   deps.Events,
		metrics:  cfg.Metrics,
		clock:    cfg.Clock,
		clusters: cfg.Clusters,
		period:   cfg.Period,
		limits:   cfg.Limits,
		lease:    cfg.Lease,
		memory:   newMemory(),
		todo:     map[netip.Prefix]job{},
		verdicts: map[string]verdict{},
		told:     map[netip.Prefix]string{},
	}
	c.plans = loop.New(queue, c.plan, loop.Config{Workers: 1, Clock: cfg.Clock})
	c.jobs = loop.New("route_changes", c.change, loop.Config{Workers: cfg.Syncs, Clock: cfg.Clock})
	c.conditions = loop.New("route_conditions", c.write, loop.Config{Workers: writers, Clock: cfg.Clock})
	return c
}

// Run works until the context ends and returns when nothing is under way any
// more. It begins when all Nodes are known: a route must not go since the
// informer has not told of its Node yet.
func (c *Controller) Run(ctx context.Context) error {
	handler, err := c.informer.AddEventHandler(c.nodeNews())
	if err != nil {
		return fmt.Errorf("watch nodes: %w", err)
	}
	defer func() { _ = c.informer.RemoveEventHandler(handler) }() // It fails only for a foreign handle.
	if cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
		c.metrics.watch(c)
		defer c.metrics.watch(nil)
		c.plans.Add(table)
	}
	var all sync.WaitGroup
	for _, l := range []*loop.Loop{c.plans, c.jobs, c.conditions} {
		all.Go(func() { _ = l.Run(ctx) }) // It has no errors of its own.
	}
	all.Wait()
	return nil
}

// Stuck returns an error that names what has lasted longer than the limit.
func (c *Controller) Stuck(limit time.Duration) error {
	return errors.Join(c.plans.Stuck(limit), c.jobs.Stuck(limit), c.conditions.Stuck(limit))
}

// plan is a pass over the whole table.
func (c *Controller) plan(ctx context.Context, _ string) (loop.Result, error) {
	changed, trigger := c.news()
	for range looks {
		o, err := c.observe(changed)
		if err != nil {
			return loop.Result{}, err
		}
		p := decide(o)
		if !p.look {
			c.apply(ctx, o, p)
			c.metrics.synced(trigger, p, o.isBlind())
			return loop.Result{After: p.after}, nil
		}
		c.look(ctx, p.why)
		if ctx.Err() != nil {
			return loop.Result{}, ctx.Err()
		}
	}
	return loop.Result{}, fmt.Errorf("the routes were listed %d times, and are not known well enough", looks)
}

// news is when Nodes last changed, and whether that is news.
func (c *Controller) news() (time.Time, trigger) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := periodic
	if c.changed.After(c.planned) {
		t = nodeChange
	}
	c.planned = c.changed
	return c.changed, t
}

// look asks the cloud for all routes. A failure is remembered, and the next plan
// says what follows from it.
func (c *Controller) look(ctx context.Context, why string) {
	logger := klog.FromContext(ctx)
	began := c.clock.Now()
	listed, err := c.routes.List(ctx)
	if ctx.Err() != nil {
		return
	}
	now := c.clock.Now()
	c.metrics.called(callList, now.Sub(began), err)
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.question(began, err)
	if err != nil {
		was := c.memory.blind
		c.memory.blind = was.next(now, failureOf(callList, err))
		if was.reason != c.memory.blind.reason {
			logger.Error(err, "The cloud does not say what routes there are; none is changed", "why", why)
		}
		return
	}
	if c.memory.blind.count > 0 {
		logger.Info("The cloud says again what routes there are", "after", now.Sub(c.memory.blind.since))
	}
	c.listing = listing{at: asked, answered: now, routes: fromCloud(listed)}
	c.due = began.Add(time.Duration(float64(c.period) * (0.9 + 0.2*rand.Float64())))
	c.memory.listed(c.listing)
	logger.V(4).Info("Listed the routes", "routes", len(listed), "why", why)
}

// question is when the question began that has come to this: who is let go since
// the cloud is slow gets the answer the next time, and it may be as old as the
// first time. It needs mu.
func (c *Controller) question(began time.Time, err error) time.Time {
	asked := began
	if !c.asked.IsZero() {
		asked = c.asked
	}
	c.asked = time.Time{}
	if kind := cloud.KindOf(err); kind == cloud.Slow || kind == cloud.Throttled {
		c.asked = asked
	}
	return asked
}

// nodeNews is what makes a pass worth while.
func (c *Controller) nodeNews() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.wake() },
		UpdateFunc: func(before, now any) {
			was, is := before.(*corev1.Node), now.(*corev1.Node)
			if was.UID != is.UID { // It was replaced while the informer did not see it.
				c.left(was)
			}
			if matters(was, is) {
				c.wake()
			}
		},
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			if node, ok := obj.(*corev1.Node); ok {
				c.left(node)
			}
			c.wake()
		},
	}
}

func (c *Controller) left(node *corev1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memory.left(node, c.clock.Now())
}

// matters tells whether a change of a Node may change a plan.
func matters(before, now *corev1.Node) bool {
	return before.UID != now.UID || !slices.Equal(before.Spec.PodCIDRs, now.Spec.PodCIDRs) ||
		!apiequality.Semantic.DeepEqual(before.Status.Addresses, now.Status.Addresses) ||
		(before.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) || isExcluded(before) != isExcluded(now)
}

func (c *Controller) wake() {
	c.mu.Lock()
	c.changed = c.clock.Now()
	c.mu.Unlock()
	c.plans.AddAfter(table, quiet)
}
