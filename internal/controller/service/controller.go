package service

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	informersv1 "k8s.io/client-go/informers/core/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// Name is the controller's name in --controllers and health checks.
const Name = "service-lb-controller"

// queue is the name of the queue in metrics; it is upstream's.
const queue = "service"

// soon is when a pass goes on that has let others go first.
const soon = time.Millisecond

// steps bounds a pass: no Service needs as many.
const steps = 20

// balancers is the cloud, as far as this package needs it.
type balancers interface {
	Ensure(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error)
	Update(ctx context.Context, service *corev1.Service, nodes []*corev1.Node) error
	Delete(ctx context.Context, service *corev1.Service) error
}

// services is the API server, as far as this package needs it.
type services interface {
	Cached(key string) (*corev1.Service, error)
	PatchStatus(ctx context.Context, namespace, name string, p kube.ServicePatch) (*corev1.Service, error)
}

// recorder records events on Services.
type recorder interface {
	Service(service *corev1.Service, eventType, reason, message string)
}

// Config has the numbers of the controller. Its zero values work.
type Config struct {
	// Syncs is for how many Services the cloud is called at once; 0 means 1.
	Syncs  int
	Policy Policy
	Choice Choice
	// Metrics may be nil.
	Metrics *Metrics
	// Clock is for tests; nil means the real one.
	Clock clock.WithTicker
}

// Deps are what the controller cannot do without.
type Deps struct {
	Services  services
	Informer  informersv1.ServiceInformer
	Nodes     informersv1.NodeInformer
	Balancers balancers
	Events    recorder
}

// Controller keeps load balancers in line with Services and nodes.
type Controller struct {
	services  services
	informer  cache.SharedIndexInformer
	lister    listersv1.ServiceLister
	nodes     cache.SharedIndexInformer
	balancers balancers
	backends  *backends
	events    recorder
	metrics   *Metrics
	clock     clock.WithTicker
	policy    Policy
	choice    Choice
	loop      *loop.Loop
	elsewhere atomic.Bool // see observed

	mu       sync.Mutex
	memories map[string]memory  // by key; guarded by mu
	spreads  map[string]float64 // by key; guarded by mu
	// queued is since when Services wait whose owners were told so, by key;
	// guarded by mu
	queued map[string]time.Time
	// others are the Services that were last seen in a class of others, by key;
	// guarded by mu
	others map[string]types.UID
}

// New returns a controller; it does nothing before Run.
func New(deps Deps, cfg Config) *Controller {
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Metrics == nil {
		cfg.Metrics = newMetrics()
	}
	c := &Controller{
		services:  deps.Services,
		informer:  deps.Informer.Informer(),
		lister:    deps.Informer.Lister(),
		nodes:     deps.Nodes.Informer(),
		balancers: deps.Balancers,
		backends:  newBackends(deps.Nodes.Lister(), cfg.Choice, cfg.Clock),
		events:    deps.Events,
		metrics:   cfg.Metrics,
		clock:     cfg.Clock,
		policy:    cfg.Policy,
		choice:    cfg.Choice,
		memories:  map[string]memory{},
		spreads:   map[string]float64{},
		queued:    map[string]time.Time{},
		others:    map[string]types.UID{},
	}
	c.loop = loop.New(queue, c.Reconcile, loop.Config{Workers: cfg.Syncs, Clock: cfg.Clock})
	return c
}

// Run works until the context ends and returns when nothing is under way any
// more. It begins when all nodes are known: a load balancer must not lose those
// that the informer has not told of yet.
func (c *Controller) Run(ctx context.Context) error {
	nodes, err := c.nodes.AddEventHandler(c.nodeNews())
	if err != nil {
		return fmt.Errorf("watch nodes: %w", err)
	}
	defer func() { _ = c.nodes.RemoveEventHandler(nodes) }() // It fails only for a foreign handle.
	handler, err := c.informer.AddEventHandler(c.serviceNews())
	if err != nil {
		return fmt.Errorf("watch services: %w", err)
	}
	defer func() { _ = c.informer.RemoveEventHandler(handler) }()
	if !cache.WaitForCacheSync(ctx.Done(), nodes.HasSynced, handler.HasSynced) {
		return c.loop.Run(ctx) // The context has ended, and with it the queue.
	}
	c.metrics.watch(c)
	defer c.metrics.watch(nil)
	c.backends.remake()
	var beside sync.WaitGroup
	beside.Go(func() { c.backends.follow(ctx, c.updateAll) })
	beside.Go(func() { c.tellWhoWaits(ctx) })
	defer beside.Wait()
	return c.loop.Run(ctx)
}

// Stuck returns an error that names a Service whose pass has lasted longer than
// the limit.
func (c *Controller) Stuck(limit time.Duration) error { return c.loop.Stuck(limit) }

// Reconcile brings one Service in line, step by step. After a call to the cloud
// others have their turn before the next: with slow calls, and nodes that come and
// go, one Service could keep a worker for an hour.
func (c *Controller) Reconcile(ctx context.Context, key string) (loop.Result, error) {
	called := false
	for range steps {
		o, err := c.observe(key)
		if err != nil {
			return loop.Result{}, err
		}
		p := decide(o)
		if called && p.isCall() {
			return loop.Result{After: soon, HighPriority: p.do != update && !p.quiet}, nil
		}
		called = called || p.isCall()
		again, err := c.apply(ctx, key, o, p)
		switch {
		case apierrors.IsNotFound(err), kube.IsStale(err):
			// The object has gone or was replaced: the informer will say so.
			return loop.Result{Retry: true}, nil
		case err != nil:
			return loop.Result{}, err
		case !again:
			return loop.Result{After: p.after, HighPriority: p.awaited}, nil
		case ctx.Err() != nil:
			return loop.Result{}, ctx.Err()
		}
	}
	return loop.Result{}, fmt.Errorf("service %s needs more than %d steps", key, steps)
}

// observe gathers what is known without I/O.
func (c *Controller) observe(key string) (observed, error) {
	o := observed{now: c.clock.Now(), policy: c.policy, elsewhere: c.elsewhere.Load()}
	service, err := c.services.Cached(key)
	switch {
	case err == nil:
		o.service = service
	case !apierrors.IsNotFound(err):
		return observed{}, err
	}
	nodes := c.backends.newest()
	o.backends, o.hosts = nodes.id, len(nodes.nodes)
	c.mu.Lock()
	defer c.mu.Unlock()
	o.memory = c.memories[key]
	o.wasForeign = o.service != nil && c.others[key] == o.service.UID
	if _, ok := c.spreads[key]; !ok {
		c.spreads[key] = rand.Float64()
	}
	o.spread = c.spreads[key]
	return o, nil
}

// serviceNews is what makes a pass worth while. What was provided by an earlier
// process is looked at again when nobody waits for anything else.
func (c *Controller) serviceNews() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			service := obj.(*corev1.Service)
			c.noteClass(service)
			if !c.policy.concerns(service) {
				return
			}
			priority := loop.High
			if len(service.Status.LoadBalancer.Ingress) > 0 && service.DeletionTimestamp == nil {
				priority = loop.Low
			}
			c.add(service, priority)
		},
		UpdateFunc: func(before, now any) {
			was, is := before.(*corev1.Service), now.(*corev1.Service)
			c.noteClass(is)
			if was.ResourceVersion != is.ResourceVersion && (c.policy.concerns(was) || c.policy.concerns(is)) {
				c.add(is, loop.High)
			}
		},
		DeleteFunc: func(obj any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
				c.dropClass(key)
				c.loop.Add(key)
			}
		},
	}
}

// noteClass keeps in mind which Services belong to others. A class goes with
// the type, and then the finalizer alone does not tell whose it is.
func (c *Controller) noteClass(service *corev1.Service) {
	key := service.Namespace + "/" + service.Name
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.policy.isOurs(service):
		c.others[key] = service.UID
	case service.Spec.Type == corev1.ServiceTypeLoadBalancer, c.others[key] != service.UID:
		delete(c.others, key)
	}
}

func (c *Controller) dropClass(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.others, key)
}

func (c *Controller) add(service *corev1.Service, p loop.Priority) {
	c.loop.AddWithPriority(service.Namespace+"/"+service.Name, p)
}

func (c *Controller) nodeNews() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { c.backends.invalidate() },
		UpdateFunc: func(before, now any) {
			if c.choice.matters(before.(*corev1.Node), now.(*corev1.Node)) {
				c.backends.invalidate()
			}
		},
		DeleteFunc: func(any) { c.backends.invalidate() },
	}
}

// updateAll asks for a pass over all Services that have load balancers.
func (c *Controller) updateAll() {
	all, err := c.lister.List(labels.Everything())
	if err != nil { // The cache has no errors of its own.
		return
	}
	for _, service := range all {
		if c.policy.concerns(service) {
			c.add(service, loop.Low)
		}
	}
}
