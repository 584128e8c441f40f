package certificate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	certinformersv1 "k8s.io/client-go/informers/certificates/v1"
	informersv1 "k8s.io/client-go/informers/core/v1"
	listersv1 "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/frame"
	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// Name is the controller's name in --controllers, events and health checks.
const Name = mark.CertificateController

// queue is the name of the queue in metrics.
const queue = "KubeletServingRequests"

// workers is the number of requests that are decided at the same time. The gateway
// limits the time for which a question to the cloud can occupy a worker.
const workers = 8

// maxSteps is the maximum number of steps of a pass. If a pass needs more, it is tried
// again later, so that passes over other requests go first.
const maxSteps = 8

// firstLogged is the number of requests without an event that are logged because they
// wait. After these, one in a second is logged. The metrics count all of them.
const firstLogged = 100

// instances has the calls to the cloud that this package makes.
type instances interface {
	Identity(ctx context.Context, node *corev1.Node, request string) (cloud.Identity, error)
}

// requests reads CertificateSigningRequests for the kubelet-serving signer, and
// decides on them.
type requests interface {
	Informer() certinformersv1.CertificateSigningRequestInformer
	Start(context.Context) (wait func())
	Live(ctx context.Context, name string) (*certificatesv1.CertificateSigningRequest, error)
	Decide(context.Context, kube.Decision) error
}

// nodes reads Nodes.
type nodes interface {
	Cached(name string) (*corev1.Node, error)
	Live(ctx context.Context, name string) (*corev1.Node, error)
}

// recorder records events on Nodes.
type recorder interface {
	Node(node *corev1.Node, eventType, reason, message string)
}

// Config configures the controller.
type Config struct {
	Limits Limits
	// Claim says which Nodes belong to this daemon.
	Claim ownership.Claim
	// Metrics may be nil.
	Metrics *Metrics
	// Clock is for tests; nil means the real clock.
	Clock clock.WithTicker
}

// Deps are the controller's dependencies. All of them are required.
type Deps struct {
	Requests  requests
	Nodes     nodes
	Informer  informersv1.NodeInformer
	Services  informersv1.ServiceInformer
	Instances instances
	Events    recorder
}

// Controller approves requests of kubelets for serving certificates.
type Controller struct {
	frame.Queue // of requests

	requests     requests
	nodes        nodes
	nodeInformer cache.SharedIndexInformer
	services     listersv1.ServiceLister
	synced       cache.InformerSynced // of Services
	instances    instances
	events       recorder
	metrics      *Metrics
	clock        clock.WithTicker
	limits       Limits
	claim        ownership.Claim
	// few bounds the log of requests that wait: a kubelet can make any number of them.
	few rate.Sometimes

	undecided pending

	mu         sync.Mutex
	remembered remembered // guarded by mu
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
		requests:     deps.Requests,
		Queue:        frame.Queue{Informer: deps.Requests.Informer().Informer()},
		nodes:        deps.Nodes,
		nodeInformer: deps.Informer.Informer(),
		services:     deps.Services.Lister(),
		synced:       deps.Services.Informer().HasSynced,
		instances:    deps.Instances,
		events:       deps.Events,
		metrics:      cfg.Metrics,
		clock:        cfg.Clock,
		limits:       cfg.Limits,
		claim:        cfg.Claim,
		remembered:   newRemembered(),
		few:          rate.Sometimes{First: firstLogged, Interval: time.Second},
	}
	c.Loop = loop.New(queue, c.Reconcile, loop.Config{Workers: workers, Clock: cfg.Clock})
	return c
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
	// Until all Nodes are known, the rules could overlook another Node that claims the
	// same instance. Until all Services are known, they could overlook the API server's
	// address. If the context ends before all are known, no pass begins.
	cache.WaitForCacheSync(ctx.Done(), known)
	return c.Loop.Run(ctx)
}

// Follow starts to watch all Nodes, requests and Services. To end the watch, end ctx
// first, and then call stop. The first returned function reports whether the controller
// has seen all existing Nodes, requests and Services. Run calls Follow itself.
func (c *Controller) Follow(ctx context.Context) (known cache.InformerSynced, stop func(), err error) {
	if err := kube.IndexProviderIDs(c.nodeInformer); err != nil {
		return nil, nil, fmt.Errorf("index nodes: %w", err)
	}
	nodesKnown, stopNodes, err := frame.Watch(c.nodeInformer, "nodes", c.onNode)
	if err != nil {
		return nil, nil, err
	}
	requestsKnown, stopRequests, err := frame.Watch(c.Informer, "requests", c.onRequest)
	if err != nil {
		stopNodes()
		return nil, nil, err
	}
	wait := c.requests.Start(ctx)
	known = func() bool { return nodesKnown() && requestsKnown() && c.synced() }
	return known, func() { wait(); stopNodes(); stopRequests() }, nil
}

// Reconcile decides on one request.
func (c *Controller) Reconcile(ctx context.Context, name string) (loop.Result, error) {
	obj, exists, err := c.Informer.GetStore().GetByKey(name)
	if err != nil {
		return loop.Result{}, fmt.Errorf("request %s in the cache: %w", name, err)
	}
	if !exists {
		c.forget(name)
		return loop.Result{}, nil
	}
	o, p, err := c.judge(ctx, obj.(*certificatesv1.CertificateSigningRequest))
	if apierrors.IsNotFound(err) {
		return loop.Result{}, nil // The deletion of the request or of its Node asks for another pass.
	}
	if err != nil {
		return loop.Result{}, err
	}
	return c.apply(ctx, o, p)
}

// judge observes and decides. While the decision needs more facts, judge asks the
// cloud or the API server, and decides again.
func (c *Controller) judge(ctx context.Context, r *certificatesv1.CertificateSigningRequest) (o observed, p plan, err error) {
	o, err = c.observe(r)
	for range maxSteps {
		if err != nil {
			return o, p, err
		}
		switch p = decide(o); p.do {
		case ask:
			o, err = c.askCloud(ctx, o), ctx.Err()
		case confirm:
			o, err = c.reread(ctx, o)
		case doNothing, wait, approve, deny:
			return o, p, nil
		}
	}
	if err == nil {
		err = errors.New("request or Node have changed in each of several steps")
	}
	return o, p, err
}
