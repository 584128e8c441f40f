package nodelifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	informersv1 "k8s.io/client-go/informers/core/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// Name is the name of the controller that removes Nodes, in
// --controllers, events and health checks.
const Name = "cloud-node-lifecycle-controller"

// Queues of the lifecycle controller, as metrics name them.
const (
	silentQueue   = "SilentNodes"
	deletionQueue = "NodeDeletions"
)

// existences is the cloud, as far as the removal of Nodes needs it.
type existences interface {
	// Existence asks whether the instance of a Node exists, in a call of its
	// own.
	Existence(context.Context, *corev1.Node) (cloud.Existence, error)
	// Shutdown asks whether the instance of a Node is shut down.
	Shutdown(context.Context, *corev1.Node) (bool, error)
}

// nodes is the API server, as far as the removal of Nodes needs it.
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

// Config has the numbers of the controller that removes Nodes.
type Config struct {
	// Reads is how many silent Nodes are asked about at once; 0 means 1.
	Reads  int
	Limits Limits
	// Metrics may be nil.
	Metrics *Metrics
	// Clock is for tests; nil means the real one.
	Clock clock.WithTicker
}

// Deps are what the controller that removes Nodes cannot do without.
type Deps struct {
	Nodes     nodes
	Informer  informersv1.NodeInformer
	Instances existences
	Events    recorder
}

// Lifecycle removes the Nodes whose instances are gone, and taints those whose
// instances are shut down. Silent Nodes are looked at side by side; each
// deletion is made by one serial step.
type Controller struct {
	nodes     nodes
	informer  cache.SharedIndexInformer
	lister    listersv1.NodeLister
	instances existences
	events    recorder
	metrics   *Metrics
	clock     clock.WithTicker
	limits    Limits
	looks     *loop.Loop
	deletions *loop.Loop

	mu        sync.Mutex
	memories  map[string]removalMemory // by name; guarded by mu
	handed    map[string]bool          // names that the serial step has; guarded by mu
	sightings map[subject]sighting     // guarded by mu
	confirmed map[string]bool          // provider-ID schemes; guarded by mu
	deleted   []time.Time              // unannounced Nodes, in the last minute; guarded by mu
}

// subject is what was asked: about which Node, and whether by its provider ID
// or by its name.
type subject struct {
	uid    types.UID
	byName bool
}

// New returns a controller; it does nothing before Run.
func New(deps Deps, cfg Config) *Controller {
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Metrics == nil {
		cfg.Metrics = newMetrics()
	}
	l := &Controller{
		nodes:     deps.Nodes,
		informer:  deps.Informer.Informer(),
		lister:    deps.Informer.Lister(),
		instances: deps.Instances,
		events:    deps.Events,
		metrics:   cfg.Metrics,
		clock:     cfg.Clock,
		limits:    cfg.Limits,
		memories:  map[string]removalMemory{},
		handed:    map[string]bool{},
		sightings: map[subject]sighting{},
		confirmed: map[string]bool{},
	}
	l.looks = loop.New(silentQueue, l.Reconcile, loop.Config{Workers: cfg.Reads, Clock: cfg.Clock})
	l.deletions = loop.New(deletionQueue, l.lookLast, loop.Config{Workers: 1, Clock: cfg.Clock})
	return l
}

// Run works until the context ends and returns when nothing is under way any
// more. It begins when all Nodes are known: who knows only some of them sees a
// crowd where there is none.
func (l *Controller) Run(ctx context.Context) error {
	handler, err := l.informer.AddEventHandler(l.wakes())
	if err != nil {
		return fmt.Errorf("watch nodes: %w", err)
	}
	defer func() { _ = l.informer.RemoveEventHandler(handler) }() // It fails only for a foreign handle.
	l.metrics.watch(l)
	defer l.metrics.watch(nil)
	cache.WaitForCacheSync(ctx.Done(), handler.HasSynced) // If the context ends, so do the queues.
	var deleting sync.WaitGroup
	defer deleting.Wait()
	deleting.Go(func() { _ = l.deletions.Run(ctx) }) // It has no errors of its own.
	return l.looks.Run(ctx)
}

// Stuck returns an error that names a Node whose look has lasted longer than
// the limit.
func (l *Controller) Stuck(limit time.Duration) error {
	return errors.Join(l.looks.Stuck(limit), l.deletions.Stuck(limit))
}

// Reconcile looks at one Node.
func (l *Controller) Reconcile(ctx context.Context, name string) (loop.Result, error) {
	node, err := l.nodes.Cached(name)
	if apierrors.IsNotFound(err) {
		l.forget(name)
		return loop.Result{}, nil
	}
	if err != nil || l.isHanded(name) {
		return loop.Result{}, err // The serial step adds the Node again.
	}
	c := l.observe(node)
	p := decideRemoval(c)
	if p.do == askExistence {
		if c.answer, err = l.ask(ctx, node); err != nil {
			return loop.Result{}, err
		}
		l.metrics.looked(l.clock.Since(c.now))
		c.now = l.clock.Now()
		if c.needsRoster() {
			c.roster = l.rosterFor(node)
		}
		p = decideRemoval(c)
	}
	return l.apply(ctx, c, p)
}

// wakes are what makes a look worth while.
func (l *Controller) wakes() cache.ResourceEventHandler {
	add := func(obj any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
			l.looks.Add(key)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: add,
		UpdateFunc: func(before, now any) {
			if speaksOtherwise(before.(*corev1.Node), now.(*corev1.Node)) {
				add(now)
			}
		},
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			l.forgetSightings(obj.(*corev1.Node).UID)
			add(obj)
		},
	}
}

// movedElsewhere tells whether a Node has changed in what its witnesses are
// chosen by.
func movedElsewhere(before, now *corev1.Node) bool {
	return before.Labels[corev1.LabelTopologyRegion] != now.Labels[corev1.LabelTopologyRegion] ||
		before.Labels[corev1.LabelTopologyZone] != now.Labels[corev1.LabelTopologyZone]
}

// speaksOtherwise tells whether a Node has changed in what the rules of removal
// look at. A heartbeat alone is news only of a kubelet that was silent.
func speaksOtherwise(before, now *corev1.Node) bool {
	was, is := nodefact.Condition(before, corev1.NodeReady), nodefact.Condition(now, corev1.NodeReady)
	switch {
	case before.UID != now.UID,
		before.Spec.ProviderID != now.Spec.ProviderID,
		before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero(),
		nodefact.IsExcludedByLabel(before) != nodefact.IsExcludedByLabel(now),
		nodefact.IsUninitialized(before) != nodefact.IsUninitialized(now),
		nodefact.IsAnnounced(before) != nodefact.IsAnnounced(now),
		(was == nil) != (is == nil):
		return true
	case is == nil:
		return false
	default:
		return was.Status != is.Status || is.Status == corev1.ConditionFalse && !was.LastHeartbeatTime.Equal(&is.LastHeartbeatTime)
	}
}
