package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	informersv1 "k8s.io/client-go/informers/core/v1"
	informersdiscoveryv1 "k8s.io/client-go/informers/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/frame"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// Name is the controller's name in --controllers and health checks.
const Name = "service-lb-controller"

// DefaultSyncs is the default number of Services for which the cloud is called at the
// same time. A flag or the provider can set another number. Upstream has the same
// default.
const DefaultSyncs = 1

// queue is the name of the queue in metrics. Upstream has the same name.
const queue = "service"

const (
	// yieldDelay is the delay of a pass that lets other Services go first.
	yieldDelay = time.Millisecond
	// maxActions is the maximum number of actions in a pass. No Service needs that
	// many.
	maxActions = 20
)

// balancers has the calls to the cloud that this package makes.
type balancers interface {
	Ensure(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error)
	Update(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) error
	Delete(ctx context.Context, service *corev1.Service) error
	Find(ctx context.Context, service *corev1.Service) (exists bool, err error)
}

// services has the requests about Services that this package makes.
type services interface {
	Cached(key string) (*corev1.Service, error)
	Live(ctx context.Context, service *corev1.Service) (*corev1.Service, error)
	PatchStatus(ctx context.Context, namespace, name string, p kube.ServicePatch) (*corev1.Service, error)
}

// recorder records events on Services.
type recorder interface {
	Service(service *corev1.Service, eventType, reason, message string)
}

// Config configures the controller. The zero value is valid.
type Config struct {
	// Syncs is the number of Services for which the cloud is called at the same
	// time; 0 means DefaultSyncs.
	Syncs    int
	Policy   Policy
	Backends BackendPolicy
	// Metrics may be nil.
	Metrics *Metrics
}

// Deps are the controller's dependencies. All except Slices and Many are required.
type Deps struct {
	Services services
	Informer informersv1.ServiceInformer
	Nodes    informersv1.NodeInformer
	// Slices has the EndpointSlices. It is nil if no choice of members may depend on
	// endpoints.
	Slices    informersdiscoveryv1.EndpointSliceInformer
	Balancers balancers
	// Many updates several load balancers in one call. It may be nil.
	Many   manyBalancers
	Events recorder
}

// Controller keeps load balancers in line with Services and Nodes.
type Controller struct {
	frame.Queue

	deps     Deps
	policy   Policy
	metrics  *Metrics
	clock    clock.WithTicker
	slices   cache.SharedIndexInformer // may be nil
	claims   *claims
	together *together // nil means that each call is about one Service
	backends *backends
	store    *store
}

// New returns a controller. It does nothing before Run.
func New(deps Deps, cfg Config) *Controller {
	if cfg.Metrics == nil {
		cfg.Metrics = newMetrics()
	}
	if cfg.Syncs == 0 {
		cfg.Syncs = DefaultSyncs
	}
	realClock := clock.RealClock{} // Tests of this package run in testing/synctest, which has its own time.
	c := &Controller{
		Queue:    frame.Queue{Informer: deps.Informer.Informer()},
		deps:     deps,
		policy:   cfg.Policy,
		metrics:  cfg.Metrics,
		clock:    realClock,
		claims:   &claims{of: map[string]bool{}},
		backends: newBackends(deps.Nodes.Lister(), cfg.Backends, realClock),
		store:    newStore(cfg.Metrics.waiting),
	}
	if deps.Slices != nil {
		c.slices = deps.Slices.Informer()
		c.backends.endpoints = func(key string) map[string]bool { return kube.EndpointsOf(c.slices, key) }
	}
	if deps.Many != nil {
		c.together = &together{cloud: deps.Many}
	}
	c.Loop = loop.New(queue, c.Reconcile, loop.Config{Workers: cfg.Syncs, Clock: realClock})
	return c
}

// Run works until the context ends, and returns when all work has ended. No pass begins
// before all Nodes and Services are known. Otherwise a load balancer could lose Nodes
// that the informer has not listed yet.
func (c *Controller) Run(ctx context.Context) error {
	known, stop, err := c.Follow(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if !cache.WaitForCacheSync(ctx.Done(), known) {
		return c.Loop.Run(ctx) // The context has ended, and the queue ends with it.
	}
	defer c.metrics.start()()
	c.backends.start(ctx)
	c.metrics.observeSet(c.backends.newest())
	var background sync.WaitGroup
	background.Go(func() { c.backends.follow(ctx, c.onNewSet) })
	background.Go(func() { c.reportQueued(ctx) })
	defer background.Wait()
	return c.Loop.Run(ctx)
}

// Follow watches all Nodes and Services until stop is called. The returned function,
// known, reports whether the controller has seen all existing Nodes and Services. Run
// calls Follow itself.
func (c *Controller) Follow(_ context.Context) (known cache.InformerSynced, stop func(), err error) {
	nodesKnown, stopNodes, err := frame.Watch(c.deps.Nodes.Informer(), "nodes", c.backends.onChange)
	if err != nil {
		return nil, nil, err
	}
	servicesKnown, stopServices, err := frame.Watch(c.Informer, "services", c.onService)
	if err != nil {
		stopNodes()
		return nil, nil, err
	}
	slicesKnown, stopSlices := func() bool { return true }, func() {}
	if c.slices != nil {
		if err = kube.IndexServices(c.slices); err == nil {
			slicesKnown, stopSlices, err = frame.Watch(c.slices, "endpoint slices", c.onSlice)
		}
		if err != nil {
			stopNodes()
			stopServices()
			return nil, nil, err
		}
	}
	known = func() bool { return nodesKnown() && servicesKnown() && slicesKnown() }
	return known, func() { stopNodes(); stopServices(); stopSlices() }, nil
}

// Reconcile makes a pass over one Service. If a call about many Services includes this
// Service and is under way, Reconcile does nothing, and a pass follows that call.
func (c *Controller) Reconcile(ctx context.Context, key string) (loop.Result, error) {
	if !c.claims.claim(key) {
		return loop.Result{}, nil
	}
	result, err := c.pass(ctx, key, false)
	switch rest := result.Rest; {
	case errors.Is(err, errJoined): // The claim now belongs to a call about many Services.
		return loop.Result{}, nil
	case rest != nil:
		result.Rest = func(ctx context.Context) (loop.Result, error) {
			defer c.free(key)
			return rest(ctx)
		}
	default:
		c.free(key)
	}
	return result, err
}

// free ends a claim. If another claim of the Service was refused during that time, free
// requests a pass.
func (c *Controller) free(key string) {
	if c.claims.release(key) {
		c.again(key)
	}
}

// again requests a pass, with the priority of the Service's next action.
func (c *Controller) again(key string) {
	o, err := c.observe(key)
	if p := decide(o); err != nil || p.do == update || !p.isForOwner() {
		c.enqueue(key, low)
		return
	}
	c.enqueue(key, high)
}

// pass observes, decides and applies until nothing is left to do. After a call to the
// cloud, the remaining part of the pass needs no worker. The pass ends before a second
// call, so that other Services go first. Otherwise one Service could keep a worker for
// an hour, if calls are slow and Nodes join and leave all the time.
func (c *Controller) pass(ctx context.Context, key string, called bool) (loop.Result, error) { //nolint:revive // flag-parameter: a fact about the pass, not a mode
	for range maxActions {
		o, err := c.observe(key)
		if err != nil {
			return loop.Result{}, err
		}
		p := decide(o)
		if called && p.do.isCall() {
			return yields(o, p), nil
		}
		again, err := c.apply(ctx, key, o, p)
		switch {
		case apierrors.IsNotFound(err), kube.IsStale(err):
			// The Service is gone or was replaced. The informer will report that.
			klog.FromContext(ctx).Info("Cached Service is older than that of the API server", "service", key, "next", p.do, "err", err)
			return loop.Result{Retry: true}, nil
		case err != nil:
			return loop.Result{}, err
		case !again:
			return loop.Result{After: p.after, HighPriority: p.awaited}, nil
		case ctx.Err() != nil:
			return loop.Result{}, ctx.Err()
		case p.do.isCall():
			return loop.Result{Rest: func(ctx context.Context) (loop.Result, error) { return c.pass(ctx, key, true) }}, nil
		}
	}
	return loop.Result{}, fmt.Errorf("service %s needs more than %d actions", key, maxActions)
}

// yields returns the result of a pass that ends before the call of the plan, so that
// other Services go first. While calls fail, the pass counts as unfinished. Otherwise
// it would reset the delay of a write that was refused before.
func yields(o observed, p plan) loop.Result {
	return loop.Result{After: yieldDelay, HighPriority: p.do != update && !p.routine, Unfinished: o.memory.failure.attempts > 0}
}

// onService enqueues a Service if a pass is due after its change.
func (c *Controller) onService(key string, before, now *corev1.Service) {
	if now == nil {
		before = nil
	}
	if now == nil || c.policy.isLeft(now) {
		c.backends.leave(key)
	}
	c.store.note(key, now, c.policy)
	c.enqueue(key, c.policy.wakes(change{before: before, now: now, memory: c.store.memory(key)}))
}

// onSlice requests a pass over the Service of an EndpointSlice, if its endpoints have moved to
// other Nodes. Endpoints that move together share the pass.
func (c *Controller) onSlice(_ string, before, now *discoveryv1.EndpointSlice) {
	if !c.backends.membership.policy.Subset.isMoved(kube.EndpointsIn(before), kube.EndpointsIn(now)) {
		return
	}
	key := kube.ServiceOf(cmp.Or(now, before))
	if in, ok := c.backends.wakeIn(key); ok {
		c.Loop.AddLowAfter(key, in)
	}
}

// onNewSet enqueues each Service whose load balancer might need the new set of
// backends.
func (c *Controller) onNewSet() {
	c.metrics.observeSet(c.backends.newest())
	all, err := c.deps.Informer.Lister().List(labels.Everything())
	if err != nil { // Listing a cache returns no error.
		return
	}
	for _, service := range all {
		if c.policy.concerns(service) {
			c.enqueue(keyOf(service), low)
		}
	}
}

func (c *Controller) enqueue(key string, p priority) {
	switch p {
	case high:
		c.Loop.AddWithPriority(key, loop.High)
	case low:
		c.Loop.AddWithPriority(key, loop.Low)
	case noPass:
	}
}

func keyOf(service *corev1.Service) string { return service.Namespace + "/" + service.Name }
