package node

import (
	"context"
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
	"github.com/fairlead-k8s/fairlead/internal/controller/frame"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// Name is the controller's name in --controllers, events and health checks.
const Name = "cloud-node-controller"

// queue is the name of the queue in metrics. Upstream has the same name.
const queue = "Nodes"

// passesPerRead times Config.Reads is the number of passes that can run at the same
// time. If the cloud is asked in batches, there can be more. A pass spends most of its
// time on writes to the API server, and look-ups must not wait for these writes.
const passesPerRead = 4

// mostLookUps bounds the concurrent look-ups if the cloud is asked in batches.
// Config.Reads can allow more. Each look-up has a goroutine. The gateway bounds the
// look-ups, too.
const mostLookUps = 200

// freshReads is the number of passes that a Node gets in a row if it changes during
// each of them. After that, other Nodes go first.
const freshReads = 10

// busyPause is the time that a question at low priority waits if another such question
// is under way.
const busyPause = time.Second

// instances is the part of the cloud that this package needs.
type instances interface {
	// Metadata asks for the instance of a Node that waits.
	Metadata(context.Context, *corev1.Node) (cloud.Metadata, error)
	// MetadataAtLowPriority does the same for a Node that has waited in vain for a long
	// time.
	MetadataAtLowPriority(context.Context, *corev1.Node) (cloud.Metadata, error)
	// Refresh asks for the instances of initialised Nodes, at the lowest priority.
	Refresh(context.Context, []*corev1.Node) []cloud.Answer
	// AwaitRefresh waits until a question that nobody waits for may be asked. It returns
	// an error only if the context ends first.
	AwaitRefresh(context.Context) error
	// BatchSize is the number of Nodes for which Refresh asks in one call.
	BatchSize() int
}

// lister is the provider's list of all instances.
type lister interface {
	Page(ctx context.Context, token string) (cloud.Page, error)
}

// watcher is the provider's watch of instances.
type watcher interface {
	// Next waits for changes. Only one goroutine calls it.
	Next(context.Context) (cloud.Changes, error)
	// Since returns the time after which the watch has missed no change, and reports
	// whether the watch works now.
	Since() (since time.Time, works bool)
	// Missed records that a comparison has found a change of a Node, and that the watch
	// has not named the Node. Compared records that all Nodes were compared.
	Missed(ctx context.Context, node string)
	Compared()
}

// nodes is the part of the API server that this package needs.
type nodes interface {
	patcher
	Cached(name string) (*corev1.Node, error)
	Live(ctx context.Context, name string) (*corev1.Node, error)
}

// recorder records events on Nodes.
type recorder interface {
	Node(node *corev1.Node, eventType, reason, message string)
}

// Config configures the controller. Refresh must be positive; all other fields can have
// their zero values.
type Config struct {
	// Reads is the maximum number of concurrent look-ups of waiting Nodes in the cloud.
	// If the cloud is asked in batches, there can be more. Refreshers is the maximum
	// number of concurrent calls of the periodic refresh. For both, 0 means 1.
	Reads, Refreshers int
	// Refresh is the period of the comparison of all Nodes with the cloud.
	Refresh time.Duration
	// Labels says which labels are kept up to date.
	Labels LabelPolicy
	// StrictIDs makes a Node wait if the cloud answers with a provider ID that differs
	// from the Node's. If StrictIDs is false, the Node waits only if that ID belongs to
	// another Node.
	StrictIDs bool
	// MarkIdentity adds the label nodefact.LabelIdentity to each Node whose provider ID
	// the controller writes.
	MarkIdentity bool
	// AlwaysShow makes each Node show the condition ConditionInitialized once it is
	// initialised. If AlwaysShow is false, only Nodes that have waited for a minute
	// show it, until they are initialised.
	AlwaysShow bool
	// Claim says which Nodes belong to this daemon.
	Claim ownership.Claim
	// Metrics may be nil.
	Metrics *Metrics
	// Clock is for tests; nil means the real one.
	Clock clock.WithTicker
}

// Deps has the dependencies of the controller.
type Deps struct {
	Nodes     nodes
	Informer  informersv1.NodeInformer
	Instances instances
	Events    recorder
	// List and Watch are the provider's list and watch of instances. A field is nil if
	// the provider does not offer it.
	List  lister
	Watch watcher
}

// Controller keeps Nodes in step with the cloud's instances.
type Controller struct {
	frame.Queue

	nodes     nodes
	cached    listersv1.NodeLister
	instances instances
	events    recorder
	metrics   *Metrics
	clock     clock.WithTicker
	policy    LabelPolicy
	strictIDs bool
	marks     bool
	always    bool
	claim     ownership.Claim
	reads     chan struct{} // has an element for each look-up under way
	unhurried chan struct{} // the same for look-ups at low priority
	refresher refresher
	lister    lister  // nil: not offered
	watcher   watcher // nil: not offered
	woken     woken
	index     *index
	claims    claims

	mu       sync.Mutex
	memories map[string]memory  // by name; guarded by mu
	fetched  map[string]fetched // by name; guarded by mu
	// confirmed has the provider-ID schemes of Nodes that the cloud has described;
	// guarded by mu.
	confirmed map[string]bool
	// lastCompared is the time at which the last complete comparison of all Nodes
	// began; guarded by mu.
	lastCompared time.Time
}

// fetched is the newest answer of the cloud about one Node.
type fetched struct {
	uid    types.UID
	answer answer
	at     time.Time // when the question was asked or, if a pass asked it, when it was answered
	used   bool      // No pass will use the answer. The entry stays, so that no older answer is used later.
}

// fetchedFor is the age at which an unused answer is too old for a pass.
const fetchedFor = time.Minute

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
		Queue:     frame.Queue{Informer: deps.Informer.Informer()},
		cached:    deps.Informer.Lister(),
		instances: deps.Instances,
		events:    deps.Events,
		metrics:   cfg.Metrics,
		clock:     cfg.Clock,
		policy:    cfg.Labels,
		strictIDs: cfg.StrictIDs,
		marks:     cfg.MarkIdentity,
		always:    cfg.AlwaysShow,
		claim:     cfg.Claim,
		reads:     make(chan struct{}, lookUps(cfg.Reads, deps.Instances.BatchSize())),
		unhurried: make(chan struct{}, 1),
		refresher: refresher{period: cfg.Refresh, parallel: max(cfg.Refreshers, 1)},
		index:     newIndex(),
		claims:    claims{name: map[string]string{}, id: map[string]string{}},
		memories:  map[string]memory{},
		fetched:   map[string]fetched{},
		confirmed: map[string]bool{},
		lister:    deps.List,
		watcher:   deps.Watch,
		woken:     woken{more: make(chan struct{}, 1), nodes: map[string]wokenNode{}},
	}
	writes := (passesPerRead - 1) * max(cfg.Reads, 1)
	c.Loop = loop.New(queue, c.Reconcile, loop.Config{Workers: cap(c.reads) + writes, Clock: cfg.Clock})
	return c
}

// lookUps returns the number of look-ups of waiting Nodes that can run at the same
// time. If the provider answers for many Nodes in one call, the number is large enough
// to fill one call while another is under way. If Config.Reads allows only one look-up
// at a time, lookUps returns 1.
func lookUps(reads, batch int) int {
	if reads < 2 || batch < 2 {
		return max(reads, 1)
	}
	return max(reads, min(2*batch, mostLookUps))
}

// Run runs the controller until the context ends. It returns when all work has
// ended.
func (c *Controller) Run(ctx context.Context) error {
	known, stop, err := c.Follow(ctx)
	if err != nil {
		return err
	}
	defer stop()
	defer c.metrics.waiting.Start()()
	defer c.metrics.owners.clear()

	var refreshing sync.WaitGroup
	refreshing.Go(func() {
		if !cache.WaitForCacheSync(ctx.Done(), known) {
			return
		}
		if c.watcher != nil {
			refreshing.Go(func() { c.watchInstances(ctx) })
			refreshing.Go(func() { c.askAboutWoken(ctx) })
		}
		c.refresh(ctx)
	})
	defer refreshing.Wait()
	return c.Loop.Run(ctx)
}

// Follow makes the controller follow the changes of all Nodes until stop is called. It
// keeps the index up to date, and queues a Node when it appears, when it disappears, and
// when a change of it triggers a pass (see wakes). The first returned function reports
// whether the controller has seen all Nodes. Run calls Follow itself.
func (c *Controller) Follow(_ context.Context) (known cache.InformerSynced, stop func(), err error) {
	if err := kube.IndexProviderIDs(c.Informer); err != nil {
		return nil, nil, fmt.Errorf("index nodes: %w", err)
	}
	return frame.Watch(c.Informer, "nodes", func(name string, before, now *corev1.Node) {
		c.index.set(name, now != nil && isRefreshed(c.claim, now))
		if now == nil || now.Spec.ProviderID != "" {
			c.claims.forget(name)
		}
		if before == nil || now == nil || wakes(c.claim, before, now) {
			c.Loop.Add(name)
		}
	})
}

// Reconcile brings one Node in step with the cloud.
func (c *Controller) Reconcile(ctx context.Context, name string) (loop.Result, error) {
	node, err := c.nodes.Cached(name)
	var last *corev1.Node
	for range freshReads {
		if apierrors.IsNotFound(err) {
			c.forget(name)
			return loop.Result{}, nil
		}
		if err != nil {
			return loop.Result{}, err
		}
		result, again, failure := c.pass(ctx, node)
		if !again {
			return result, failure
		}
		last = node
		node, err = c.nodes.Live(ctx, name)
	}
	o := c.observe(last)
	c.keep(last, o.answer, o.answered)
	o.unwritten = notWritten(fmt.Errorf("node %s has changed during each of %d passes", name, freshReads))
	return c.apply(ctx, o, decide(o))
}

// pass makes one pass over a Node: it observes, decides and applies. If a write fails,
// pass keeps the cloud's description of the instance for the next pass. The second
// result reports whether the Node has changed during this pass and needs another pass
// at once. It is false if the plan was to wait, because such a plan writes only a
// condition.
func (c *Controller) pass(ctx context.Context, node *corev1.Node) (result loop.Result, again bool, err error) {
	o := c.observe(node)
	p := decide(o)
	if p.do == ask {
		o.memory = p.memory
		if !p.unhurried {
			o = c.answered(o, c.askCloud(ctx, node))
		} else if answer, asked := c.askUnhurried(ctx, node); asked {
			o = c.answered(o, answer)
		} else {
			return loop.Result{After: busyPause}, false, nil
		}
		if ctx.Err() != nil {
			return loop.Result{}, false, ctx.Err()
		}
		p = decide(o)
	}
	result, err = c.apply(ctx, o, p)
	if err == nil {
		return result, false, nil
	}
	if o.answer.given == described {
		c.keep(node, o.answer, o.answered)
	}
	if isStale := kube.IsStale(err); isStale || apierrors.IsNotFound(err) || ctx.Err() != nil || p.do == wait {
		return result, isStale && p.do != wait, err
	}
	// The write was refused. A second plan shows the refusal to the Node's owner.
	o.unwritten = notWritten(err)
	result, err = c.apply(ctx, o, decide(o))
	return result, false, err
}
