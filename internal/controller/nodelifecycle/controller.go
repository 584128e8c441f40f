package nodelifecycle

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	informersv1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/frame"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// Name is the controller's name in --controllers, events and health checks. Upstream
// has the same name.
const Name = "cloud-node-lifecycle-controller"

// silentQueue and deletionQueue are the names of the queues in metrics.
const (
	silentQueue   = "SilentNodes"
	deletionQueue = "NodeDeletions"
)

// instances is the part of the cloud that this package needs.
type instances interface {
	// Existence asks whether the instance of a Node exists. The call is not shared
	// with other callers.
	Existence(context.Context, *corev1.Node) (cloud.Existence, error)
	// Shutdown asks whether the instance of a Node is shut down.
	Shutdown(context.Context, *corev1.Node) (bool, error)
	// Termination asks whether the cloud lists the instance of a Node as terminated.
	Termination(context.Context, *corev1.Node) (cloud.Termination, error)
	// Confirmed reports whether the cloud has described the instance of this very Node
	// lately. It makes no call.
	Confirmed(*corev1.Node) bool
}

// nodes is the part of the API server that this package needs.
type nodes interface {
	Cached(name string) (*corev1.Node, error)
	Live(ctx context.Context, name string) (*corev1.Node, error)
	Patch(ctx context.Context, p kube.NodePatch) (*corev1.Node, error)
	PatchStatus(ctx context.Context, name string, p kube.NodeStatusPatch) (*corev1.Node, error)
	Delete(ctx context.Context, node *corev1.Node) error
}

// recorder records events on Nodes.
type recorder interface {
	Node(node *corev1.Node, eventType, reason, message string)
}

// Config configures the controller.
type Config struct {
	// Reads is the number of passes that can run at the same time; 0 means 1. In
	// addition, one final check can run at the same time.
	Reads  int
	Limits Limits
	// Claim says which Nodes belong to this daemon.
	Claim ownership.Claim
	// Metrics may be nil.
	Metrics *Metrics
	// Clock is for tests; nil means the real one.
	Clock clock.WithTicker
}

// Deps has the dependencies of the controller. All of them are required.
type Deps struct {
	Nodes     nodes
	Informer  informersv1.NodeInformer
	Instances instances
	Events    recorder
}

// Controller deletes the Nodes whose instances no longer exist, and taints those whose
// instances are shut down. It asks about several silent Nodes at the same time. The
// final checks and the deletions are serial: one Node after another.
type Controller struct {
	nodes     nodes
	informer  cache.SharedIndexInformer
	instances instances
	events    recorder
	metrics   *Metrics
	clock     clock.WithTicker
	limits    Limits
	claim     ownership.Claim
	suspects  *loop.Loop
	deletions *loop.Loop

	mu       sync.Mutex
	memories map[string]memory // by name; guarded by mu
	enqueued map[string]bool   // names of Nodes whose final check is queued or running; guarded by mu
	ledger   *ledger           // guarded by mu
	snapshot *snapshot         // the last one, or nil; guarded by mu
}

// New returns a controller that does not run yet.
func New(deps Deps, cfg Config) *Controller {
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Metrics == nil {
		cfg.Metrics = newMetrics(cfg.Clock)
	}
	c := &Controller{
		nodes:     deps.Nodes,
		informer:  deps.Informer.Informer(),
		instances: deps.Instances,
		events:    deps.Events,
		metrics:   cfg.Metrics,
		clock:     cfg.Clock,
		limits:    cfg.Limits,
		claim:     cfg.Claim,
		memories:  map[string]memory{},
		enqueued:  map[string]bool{},
		ledger:    newLedger(),
	}
	c.suspects = loop.New(silentQueue, c.Reconcile, loop.Config{Workers: cfg.Reads, Clock: cfg.Clock})
	c.deletions = loop.New(deletionQueue, c.finalCheck, loop.Config{Workers: 1, Clock: cfg.Clock})
	return c
}

// Run runs the controller until the context ends. It returns when all work has ended.
// Passes begin once all Nodes are known, because the budget depends on the number of
// Nodes.
func (c *Controller) Run(ctx context.Context) error {
	known, stop, err := c.Follow(ctx)
	if err != nil {
		return err
	}
	defer stop()
	defer c.metrics.held.Start()()
	cache.WaitForCacheSync(ctx.Done(), known) // If the context ends first, the queues below end at once.
	var deleting sync.WaitGroup
	defer deleting.Wait()
	deleting.Go(func() { _ = c.deletions.Run(ctx) }) // The error is always nil.
	return c.suspects.Run(ctx)
}

// Follow makes the controller follow the changes of all Nodes until stop is called. The
// first returned function reports whether the controller has seen all Nodes. Run calls
// Follow itself.
func (c *Controller) Follow(_ context.Context) (known cache.InformerSynced, stop func(), err error) {
	return frame.Watch(c.informer, "nodes", func(name string, before, now *corev1.Node) {
		if before == nil || now == nil || wakes(c.limits, c.claim, before, now) {
			c.suspects.Add(name)
		}
	})
}

// Stuck returns an error that names a Node whose pass or final check has lasted
// longer than the limit.
func (c *Controller) Stuck(limit time.Duration) error {
	return errors.Join(c.suspects.Stuck(limit), c.deletions.Stuck(limit))
}

// Reconcile makes one pass for a Node: it observes the Node, decides, and applies the
// plan.
func (c *Controller) Reconcile(ctx context.Context, name string) (loop.Result, error) {
	node, err := c.nodes.Cached(name)
	if apierrors.IsNotFound(err) {
		c.forget(name)
		return loop.Result{}, nil
	}
	if err != nil || c.isEnqueued(name) {
		return loop.Result{}, err // The final check adds the Node to the queue again.
	}
	o, p, err := c.suspect(ctx, node)
	if err != nil {
		return loop.Result{}, err
	}
	return c.apply(ctx, o, p)
}

// suspect observes a Node and decides about it. If the decision needs an answer of the
// cloud, suspect asks and then decides again. It returns an error only if the context
// ends.
func (c *Controller) suspect(ctx context.Context, node *corev1.Node) (o observed, p plan, err error) {
	o = c.observe(node)
	if p = decideSuspicion(o); p.do != ask {
		return o, p, nil
	}
	o.memory = p.memory
	if o.answer, err = c.askExistence(ctx, node); err == nil {
		o.answer, err = c.askTermination(ctx, node, o.answer)
	}
	if err != nil {
		return o, p, err
	}
	c.metrics.asked(c.clock.Since(o.now))
	o.now = c.clock.Now()
	if o.needsPeers() {
		o.peers = c.peersOf(node)
	}
	return o, decideSuspicion(o), nil
}
