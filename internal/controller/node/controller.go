package node

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	informersv1 "k8s.io/client-go/informers/core/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/cloud-provider/api"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// Name is the controller's name in --controllers, events and health checks.
const Name = "cloud-node-controller"

// queue is the name of the queue in metrics; it is upstream's.
const queue = "Nodes"

// passesPerRead is how many passes there are for each look-up. Most of a pass is
// spent on writes to the API server, and the cloud must not wait for those.
const passesPerRead = 4

// freshReads is how often a pass decides anew because the Node has changed
// under it, before it gives way.
const freshReads = 10

// instances is the cloud, as far as this package needs it.
type instances interface {
	// Metadata asks for the instance of a Node that waits.
	Metadata(context.Context, *corev1.Node) (cloud.Metadata, error)
	// Refresh asks for the instances of Nodes that nobody waits for.
	Refresh(context.Context, []*corev1.Node) []cloud.Answer
	// BatchSize is how many Nodes Refresh asks for in one call.
	BatchSize() int
}

// nodes is the API server, as far as this package needs it.
type nodes interface {
	patcher
	Cached(name string) (*corev1.Node, error)
	Live(ctx context.Context, name string) (*corev1.Node, error)
}

// recorder records events on Nodes.
type recorder interface {
	Node(node *corev1.Node, eventType, reason, message string)
}

// Config has the numbers of the controller. Its zero values work, but for
// Refresh.
type Config struct {
	// Reads is how many Nodes that wait are looked up in the cloud at once,
	// Refreshers how many calls of the periodic refresh are under way at once;
	// 0 means 1.
	Reads, Refreshers int
	// Refresh is the period in which each Node is compared with the cloud.
	Refresh time.Duration
	// Labels is which labels follow the cloud.
	Labels LabelPolicy
	// Metrics may be nil.
	Metrics *Metrics
	// Clock is for tests; nil means the real one.
	Clock clock.WithTicker
}

// Deps are what the controller cannot do without.
type Deps struct {
	Nodes     nodes
	Informer  informersv1.NodeInformer
	Instances instances
	Events    recorder
}

// Controller keeps Nodes in step with the cloud's instances.
type Controller struct {
	nodes     nodes
	informer  cache.SharedIndexInformer
	lister    listersv1.NodeLister
	instances instances
	events    recorder
	metrics   *Metrics
	clock     clock.WithTicker
	policy    LabelPolicy
	reads     chan struct{} // a place for each look-up
	refresher refresher
	loop      *loop.Loop

	mu       sync.Mutex
	memories map[string]memory  // by name; guarded by mu
	fetched  map[string]fetched // by name; guarded by mu
}

// fetched is an answer that no pass has made use of yet.
type fetched struct {
	uid    types.UID
	answer answer
	at     time.Time
}

// fetchedFor is how long such an answer is worth something.
const fetchedFor = time.Minute

// New returns a controller; it does nothing before Run.
func New(deps Deps, cfg Config) *Controller {
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Metrics == nil {
		cfg.Metrics = newMetrics()
	}
	c := &Controller{
		nodes:     deps.Nodes,
		informer:  deps.Informer.Informer(),
		lister:    deps.Informer.Lister(),
		instances: deps.Instances,
		events:    deps.Events,
		metrics:   cfg.Metrics,
		clock:     cfg.Clock,
		policy:    cfg.Labels,
		reads:     make(chan struct{}, max(cfg.Reads, 1)),
		refresher: refresher{period: cfg.Refresh, parallel: max(cfg.Refreshers, 1)},
		memories:  map[string]memory{},
		fetched:   map[string]fetched{},
	}
	c.loop = loop.New(queue, c.Reconcile, loop.Config{Workers: passesPerRead * cap(c.reads), Clock: cfg.Clock})
	return c
}

// Run works until the context ends and returns when nothing is under way any
// more.
func (c *Controller) Run(ctx context.Context) error {
	handler, err := c.informer.AddEventHandler(c.wakes())
	if err != nil {
		return fmt.Errorf("watch nodes: %w", err)
	}
	defer func() { _ = c.informer.RemoveEventHandler(handler) }() // It fails only for a foreign handle.
	c.metrics.watch(c)
	defer c.metrics.watch(nil)

	var refreshing sync.WaitGroup
	refreshing.Go(func() {
		if cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) {
			c.refresh(ctx)
		}
	})
	defer refreshing.Wait()
	return c.loop.Run(ctx)
}

// Stuck returns an error that names a Node whose pass has lasted longer than
// the limit.
func (c *Controller) Stuck(limit time.Duration) error { return c.loop.Stuck(limit) }

// Reconcile brings one Node in line.
func (c *Controller) Reconcile(ctx context.Context, name string) (loop.Result, error) {
	node, err := c.nodes.Cached(name)
	for range freshReads {
		if apierrors.IsNotFound(err) {
			c.forget(name)
			return loop.Result{}, nil
		}
		if err != nil {
			return loop.Result{}, err
		}
		result, failure := c.pass(ctx, node)
		if !kube.IsStale(failure) {
			return result, failure
		}
		node, err = c.nodes.Live(ctx, name)
	}
	return loop.Result{}, fmt.Errorf("node %s has changed under each of %d passes", name, freshReads)
}

// pass observes, decides and applies, once. What the cloud said is kept for
// the next pass if this one could not make use of it, for a while.
func (c *Controller) pass(ctx context.Context, node *corev1.Node) (loop.Result, error) {
	o := c.observe(node)
	p := decide(o)
	if p.do == ask {
		o.answer = c.askCloud(ctx, node)
		if ctx.Err() != nil {
			return loop.Result{}, ctx.Err()
		}
		o.now = c.clock.Now()
		o.answered = o.now
		p = decide(o)
	}
	result, err := c.apply(ctx, o, p)
	switch {
	case err == nil || o.answer.given != described:
		return result, err
	case kube.IsStale(err), apierrors.IsNotFound(err), ctx.Err() != nil, p.do != release:
		c.keep(node, o.answer, o.answered)
		return result, err
	default:
		// The Node waits for the API server, and must say so.
		c.keep(node, o.answer, o.answered)
		o.answer = answer{given: refused, cause: notWritten(err)}
		return c.apply(ctx, o, decide(o))
	}
}

// wakes are what makes a pass worth while.
func (c *Controller) wakes() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: c.add,
		UpdateFunc: func(before, now any) {
			if hasNews(before.(*corev1.Node), now.(*corev1.Node)) {
				c.add(now)
			}
		},
		DeleteFunc: c.add,
	}
}

func (c *Controller) add(obj any) {
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
		c.loop.Add(key)
	}
}

// hasNews tells whether a Node has changed in what rules look at. Heartbeats
// and the notes of others have no news; they must not cut short the delay of a
// Node that waits.
func hasNews(before, now *corev1.Node) bool {
	return before.UID != now.UID ||
		before.Spec.ProviderID != now.Spec.ProviderID ||
		before.Annotations[AnnotationLabels] != now.Annotations[AnnotationLabels] ||
		before.Annotations[api.AnnotationAlphaProvidedIPAddr] != now.Annotations[api.AnnotationAlphaProvidedIPAddr] ||
		!maps.Equal(before.Labels, now.Labels) ||
		!slices.Equal(before.Status.Addresses, now.Status.Addresses) ||
		!equality.Semantic.DeepEqual(before.Spec.Taints, now.Spec.Taints) ||
		before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero()
}

func (c *Controller) remember(name string, m memory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memories[name] = m
}

// keep keeps an answer for the next pass, unless there is a newer one.
func (c *Controller) keep(node *corev1.Node, a answer, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept, ok := c.fetched[node.Name]; !ok || kept.uid != node.UID || kept.at.Before(at) {
		c.fetched[node.Name] = fetched{uid: node.UID, answer: a, at: at}
	}
}

func (c *Controller) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.memories, name)
	delete(c.fetched, name)
}
