package ipam

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	informersv1 "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/controller/frame"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// Name is the controller's name in --controllers, events and health checks.
const Name = "node-ipam-controller"

const (
	// queue is the name of the queue in metrics.
	queue = "node_cidrs"
	// workers is the number of Nodes that are written at the same time.
	workers = 16
	// maxSteps is the maximum number of steps of a pass. If a pass needs more, it is
	// tried again later, so that passes over other Nodes go first.
	maxSteps = 8
	// listAgain is the pause after a failed list of all Nodes.
	listAgain = 5 * time.Second
)

// nodes has the requests to the API server that this package makes.
type nodes interface {
	Cached(name string) (*corev1.Node, error)
	Live(ctx context.Context, name string) (*corev1.Node, error)
	All(ctx context.Context) ([]corev1.Node, error)
	Patch(ctx context.Context, p kube.NodePatch) (*corev1.Node, error)
}

type recorder interface {
	Node(node *corev1.Node, eventType, reason, message string)
	Lease(lease types.NamespacedName, eventType, reason, message string)
}

// Config configures the controller.
type Config struct {
	// Families has one or two elements, the primary family first.
	Families []Family
	// Reserved are the CIDRs of Services. No Node gets a part of them.
	Reserved []netip.Prefix
	// Claim says which Nodes belong to this daemon.
	Claim ownership.Claim
	// Lease is the lease of this process. Events that are not about a Node are recorded
	// on the Lease.
	Lease types.NamespacedName
	// Metrics may be nil.
	Metrics *Metrics
	// Clock is for tests; nil means the real clock.
	Clock clock.WithTicker
}

// Deps are the controller's dependencies. All of them are required.
type Deps struct {
	Nodes    nodes
	Informer informersv1.NodeInformer
	Events   recorder
}

// Controller gives Nodes the CIDRs of their pods.
type Controller struct {
	frame.Queue

	nodes   nodes
	events  recorder
	metrics *Metrics
	clock   clock.WithTicker
	claim   ownership.Claim
	lease   types.NamespacedName
	planned sync.Once // makes Plan enter all Nodes into the ledger once
	// self names this leader in fences. Each process has its own name.
	self string

	mu       sync.Mutex
	ledger   *ledger           // guarded by mu
	blocked  bool              // at the last change of the ledger, Nodes waited for the fence of another one; guarded by mu
	others   others            // guarded by mu
	memories map[string]memory // of Nodes that wait, by name; guarded by mu
}

// New returns a controller. The controller does nothing before Run.
func New(deps Deps, cfg Config) *Controller {
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Metrics == nil {
		cfg.Metrics = newMetrics(cfg.Clock)
	}
	c := &Controller{
		nodes:    deps.Nodes,
		Queue:    frame.Queue{Informer: deps.Informer.Informer()},
		events:   deps.Events,
		metrics:  cfg.Metrics,
		clock:    cfg.Clock,
		claim:    cfg.Claim,
		lease:    cfg.Lease,
		self:     string(uuid.NewUUID()),
		ledger:   newLedger(cfg.Families, cfg.Reserved),
		memories: map[string]memory{},
	}
	c.Loop = loop.New(queue, c.pass, loop.Config{Workers: workers, Clock: cfg.Clock})
	return c
}

// Run works until the context ends, and returns when all passes have returned.
func (c *Controller) Run(ctx context.Context) error {
	known, stop, err := c.Follow(ctx)
	if err != nil {
		return err
	}
	defer stop()
	cache.WaitForCacheSync(ctx.Done(), known)
	if c.begin(ctx) {
		defer c.show()()
	}
	return c.Loop.Run(ctx) // If the context has ended, it makes no pass, and ends the queue.
}

// Follow watches all Nodes until stop is called. The first returned function reports
// whether the controller has seen all existing Nodes. Run calls Follow itself.
func (c *Controller) Follow(_ context.Context) (known cache.InformerSynced, stop func(), err error) {
	return frame.Watch(c.Informer, "nodes", c.onNode)
}

// onNode requests a pass after a Node has changed; see rules_wake.go.
func (c *Controller) onNode(name string, before, now *corev1.Node) {
	switch {
	case now == nil:
		c.Loop.Add(name)
	case before == nil || wakes(c.claim, before, now):
		c.wake(now)
	}
}

// begin makes the ledger from a list of all Nodes. It reports whether that succeeded
// before the context ended.
func (c *Controller) begin(ctx context.Context) bool {
	for ctx.Err() == nil {
		all, err := c.nodes.All(ctx)
		if err == nil {
			c.enter(ctx, all)
			return true
		}
		klog.FromContext(ctx).Error(err, "No CIDRs are given before all Nodes are listed", "retryAfter", listAgain)
		select {
		case <-ctx.Done():
		case <-c.clock.After(listAgain):
		}
	}
	return false
}

// enter adds all Nodes to the ledger, and requests a pass over each of them. So a Node
// gets a pass even if the informer never shows it.
func (c *Controller) enter(ctx context.Context, all []corev1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range all {
		if other := c.enterNode(&all[i]); other != nil {
			c.warn(ctx, &all[i], overlap(cidrsOf(&all[i]), *other))
		}
	}
	blocking, _ := c.ledger.blocking(c.clock.Now())
	c.blocked = blocking > 0
	for name := range c.ledger.byName {
		c.Loop.AddWithPriority(name, loop.Low)
	}
}

// enterNode enters a Node into the ledger. It returns another Node whose CIDRs
// overlap with this Node's, or nil if there is none. The caller holds mu.
func (c *Controller) enterNode(node *corev1.Node) (other *entry) {
	e, cidrs := c.ledger.at(node.UID, node.Name), parse(cidrsOf(node))
	if len(cidrs) == 0 {
		c.ledger.seenWithout(e, c.clock.Now())
		c.ledger.suspect(e)
		return nil
	}
	other = c.ledger.overlapping(node.UID, cidrs)
	c.ledger.adopt(e, cidrs)
	return other
}

// show makes the metrics visible until the returned function is called.
func (c *Controller) show() (hide func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.metrics.start(c.ledger)
}

// pass looks at one Node:
//   - observe the Node, and the ledger
//   - decide
//   - read, reserve and decide again, if the plan asks for it
//   - apply the plan
func (c *Controller) pass(ctx context.Context, name string) (loop.Result, error) {
	var seen seen
	for range maxSteps {
		o, err := c.observe(name, seen)
		if err != nil {
			return loop.Result{}, err
		}
		p := decide(o)
		switch p.do { //nolint:exhaustive // all others end the pass
		case read:
			seen.live, err = c.read(ctx, name)
		case release:
			c.release(ctx, p)
		case trust:
			c.trust(o)
		case prove:
			c.prove(ctx, o)
		case reserve:
			seen.full = c.reserve(o)
		case fence:
			if refused := c.fence(ctx, o); refused != nil {
				return c.apply(ctx, name, o, *refused), nil
			}
		default:
			return c.apply(ctx, name, o, p), nil
		}
		if err != nil {
			return loop.Result{}, err
		}
	}
	return loop.Result{}, errors.New("the Node has changed in each of several steps")
}

// wake requests a pass over a Node. If the Node has no CIDRs, wake records that in the
// ledger at once, because the Node may have got CIDRs by the time of the pass.
func (c *Controller) wake(node *corev1.Node) {
	if len(cidrsOf(node)) == 0 {
		c.mu.Lock()
		c.ledger.seenWithout(c.ledger.at(node.UID, node.Name), c.clock.Now())
		c.mu.Unlock()
	}
	c.Loop.Add(node.Name)
}
