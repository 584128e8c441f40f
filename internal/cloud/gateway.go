package cloud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/component-base/metrics"

	"github.com/fairlead-k8s/fairlead/provider"
)

// Config configures the gateway. The zero value is valid.
type Config struct {
	// ReadTimeout is the timeout of a call that changes nothing; 0 means five
	// minutes. The default is long, because existing providers retry within a
	// call.
	ReadTimeout time.Duration
	// ChangeTimeout is the timeout of a call that changes the cloud; 0 means a
	// quarter of an hour, because existing providers wait for minutes in a call.
	ChangeTimeout time.Duration
	// ClusterName is the name by which the provider distinguishes this cluster's
	// load balancers and routes from those of others.
	ClusterName string
	// WithoutRoutes means that routes are not used. The gateway then does not ask
	// the provider for routes.
	WithoutRoutes bool
	// CallerTimeout is the time that a caller waits for an answer; 0 means half a
	// minute. After that time the caller gets an error of kind Slow, and the call
	// goes on.
	CallerTimeout time.Duration
	// Classify, if not nil, classifies each error before the provider's own
	// classifier does.
	Classify func(error) provider.Classification
	// Ceiling bounds calls in addition to the cloud's quota.
	Ceiling Ceiling
	// Budget is the number of calls a second that the cloud's quota allows, in the long
	// run; 0 means that it is unknown. It bounds only calls that nobody waits for.
	Budget float64
	// ReadOnly, if not nil, makes the gateway read-only: no call that changes the
	// cloud reaches the provider. Instead the gateway calls ReadOnly with the method
	// and the object. Several goroutines may call ReadOnly at the same time.
	ReadOnly func(method, object string)
	// Metrics are the metrics to update; nil means none. Several gateways may
	// share them.
	Metrics *Metrics
}

func (c Config) withDefaults() Config {
	if c.ReadTimeout == 0 {
		c.ReadTimeout = 5 * time.Minute
	}
	if c.ChangeTimeout == 0 {
		c.ChangeTimeout = 15 * time.Minute
	}
	if c.CallerTimeout == 0 {
		c.CallerTimeout = 30 * time.Second
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics(func(...metrics.Registerable) {})
	}
	return c
}

// Ceiling bounds the calls to the cloud, even if the cloud allows more. The zero
// value bounds nothing.
type Ceiling struct {
	// PerSecond is the maximum number of calls a second, in the long run; 0 means
	// no bound.
	PerSecond float64
	// Burst is the number of calls that may begin at once after a rest; 0 means
	// PerSecond, but at least 1.
	Burst int
	// Concurrency is the maximum number of calls under way at the same time; 0
	// means no bound. Calls that wait at the cloud until something happens do not
	// count.
	Concurrency int
}

// Gateway makes the calls to a provider.
type Gateway struct {
	readTimeout time.Duration
	refuse      func(method, object string) // called instead of a change; nil: changes are made
	metrics     *Metrics
	extras      extras
	classifiers []namedClassifier
	limiter     limiter
	health      *health
	state       state
	instances   atomic.Pointer[Instances]
	balancers   atomic.Pointer[LoadBalancers]
	routes      atomic.Pointer[Routes]
	volumes     *Volumes
	concurrency Concurrency
	accessors   []accessor  // in the order in which they are asked; set only by Open
	asking      sync.Mutex  // held while accessors are asked
	cannotSay   atomic.Bool // whether the provider's Offers has returned an error
	// changing counts the changes that have not returned. It includes changes
	// that no caller waits for any more.
	changing counter
}

// Open asks the provider which parts it offers. Once the provider has offered a part,
// the gateway does not ask for it again, because an accessor can be slow, or can build
// a new client in each call. The provider must have been initialized. Like Initialize,
// Open returns only when the provider does.
func (p *Provider) Open(ctx context.Context, cfg Config) (*Gateway, error) {
	cfg = cfg.withDefaults()
	g := &Gateway{readTimeout: cfg.ReadTimeout, refuse: cfg.ReadOnly, metrics: cfg.Metrics, extras: p.extras, classifiers: classifiersOf(cfg, p.extras), health: newHealth(cfg.Metrics.overdue.Set)}
	g.volumes = newVolumes(g, p.extras.labeler, cfg)
	g.limiter.ceiling, g.limiter.share.budget = newCeiling(cfg.Ceiling), cfg.Budget
	g.accessors = accessorsOf(g, p, cfg)
	sayHidden(ctx, p.hidden)
	g.askConcurrency(ctx)
	if _, err := g.AskAgain(ctx); err != nil && !errors.Is(err, ErrCannotSay) {
		return nil, err
	}
	return g, nil
}

// accessor asks the provider for one of its parts.
type accessor struct {
	name string                // for logs and errors
	part string                // the part that it returns
	open func(context.Context) // called until found returns true
	// found reports whether the provider has already offered the part.
	found func() bool
}

func accessorsOf(g *Gateway, p *Provider, cfg Config) []accessor {
	all := []accessor{
		{"accessors of instances", "instances", func(ctx context.Context) {
			var found parts
			found.findInstances(p.theirs)
			sayHidden(ctx, found.hidden())
			g.instances.Store(newInstances(g, p.theirs.ProviderName, found, cfg.CallerTimeout))
		}, func() bool { return g.Instances() != nil }},
		{"accessor of load balancers", "load balancers", func(ctx context.Context) {
			var found parts
			found.findLoadBalancers(p.theirs)
			sayHidden(ctx, found.hidden())
			g.balancers.Store(newLoadBalancers(g, found, cfg))
		}, func() bool { return g.LoadBalancers() != nil }},
	}
	if cfg.WithoutRoutes {
		return all
	}
	return append(all, accessor{"accessor of routes", "routes", func(ctx context.Context) {
		var found parts
		found.findRoutes(p.theirs)
		sayHidden(ctx, found.hidden())
		g.routes.Store(newRoutes(g, found, cfg))
	}, func() bool { return g.Routes() != nil }})
}

// AskAgain asks the provider for the parts that it has not offered so far. Some
// providers answer "not supported" because their own request to the cloud has failed.
// AskAgain reports whether the provider offers more than before. The error is
// ErrCannotSay if the provider cannot be asked now. Like Initialize, AskAgain returns
// only when the provider does.
func (g *Gateway) AskAgain(ctx context.Context) (more bool, err error) {
	g.asking.Lock()
	defer g.asking.Unlock()
	if err := g.canSay(ctx); err != nil {
		return false, err
	}
	var all []error
	for _, a := range g.accessors {
		if a.found() {
			continue
		}
		err := guard(context.WithoutCancel(ctx), a.name, func() error {
			a.open(ctx)
			return nil
		})
		if err != nil { // The other accessors may work.
			all = append(all, err)
		}
		more = more || a.found()
	}
	return more, errors.Join(all...)
}

// canSay returns an error if the provider is a provider.Offerer and cannot say now what
// it offers. It does not ask the provider if all parts have been found already.
func (g *Gateway) canSay(ctx context.Context) error {
	open := slices.ContainsFunc(g.accessors, func(a accessor) bool { return !a.found() })
	if g.extras.offerer == nil || !open {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, g.readTimeout)
	defer cancel()
	err := guard(context.WithoutCancel(ctx), "Offers", func() error { return g.extras.offerer.Offers(bounded) })
	g.cannotSay.Store(err != nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCannotSay, err)
	}
	return nil
}

// Offers returns a text that lists the parts that the provider offers.
func (g *Gateway) Offers() string {
	var offered, missing []string
	for _, a := range g.accessors {
		if a.found() {
			offered = append(offered, a.part)
		} else {
			missing = append(missing, a.part)
		}
	}
	switch {
	case g.cannotSay.Load():
		return "cannot say now whether it offers " + strings.Join(missing, ", ") + ", and the log says why; it is asked again"
	case len(missing) == 0:
		return "offers " + strings.Join(offered, ", ")
	case len(offered) == 0:
		return "offers nothing yet; it is asked again for " + strings.Join(missing, ", ")
	default:
		return "offers " + strings.Join(offered, ", ") + "; it is asked again for " + strings.Join(missing, ", ")
	}
}

// Instances returns the provider's instances. It returns nil while the provider
// offers none.
func (g *Gateway) Instances() *Instances { return g.instances.Load() }

// LoadBalancers returns the provider's load balancers. It returns nil while the
// provider offers none.
func (g *Gateway) LoadBalancers() *LoadBalancers { return g.balancers.Load() }

// Routes returns the provider's routes. It returns nil while the provider offers
// none.
func (g *Gateway) Routes() *Routes { return g.routes.Load() }

// RestartNeeded returns a channel that gets at most one error. The error means
// that this process must be restarted, because the provider's state in memory can
// no longer be trusted.
func (g *Gateway) RestartNeeded() <-chan error { return g.health.restart }

// AwaitChanges waits until no change of the cloud is running. The lease must not
// be released earlier.
func (g *Gateway) AwaitChanges() { g.changing.await() }

// Changing reports whether a change of the cloud is running.
func (g *Gateway) Changing() bool { return g.changing.running() }

var (
	// ErrReadOnly is the error of a change that a read-only gateway does not make.
	ErrReadOnly = errors.New("the gateway only reads, so the call was not made")
	// ErrCannotSay means that the accessors were not asked, because the provider
	// cannot say what it offers.
	ErrCannotSay = errors.New("the provider cannot say now what it offers")
	// errQuota is the reason why a call waits in the limiter.
	errQuota = errors.New("the call waits for the request quota of the cloud, which is used up or seems to be")
	// errEnded is the error of a call in which the provider calls runtime.Goexit.
	errEnded = errors.New("the provider's code ended the goroutine")
)
