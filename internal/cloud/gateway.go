package cloud

import (
	"context"
	"errors"
	"time"

	"k8s.io/component-base/metrics"

	"github.com/fairlead-k8s/fairlead/provider"
)

// Config has the numbers of the gateway. Its zero values work.
type Config struct {
	// ReadTimeout is the deadline of a call that changes nothing; 0 means five
	// minutes. It is long because existing providers retry inside.
	ReadTimeout time.Duration
	// ChangeTimeout is the deadline of a call that changes the cloud; 0 means a
	// quarter of an hour, because existing providers wait inside for minutes.
	ChangeTimeout time.Duration
	// ClusterName is how the provider tells this cluster's load balancers and
	// routes from those of others.
	ClusterName string
	// WithoutRoutes leaves the provider's routes alone: the gateway does not even
	// ask whether it offers any.
	WithoutRoutes bool
	// CallerTimeout is how long a caller waits for an answer before it gets an
	// error of kind Slow, while the call goes on; 0 means half a minute.
	CallerTimeout time.Duration
	// Classify, if not nil, is asked about each error before the provider is.
	Classify func(error) provider.Classification
	// Metrics may be shared by several gateways; nil counts nothing.
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

// Gateway makes the calls to a provider.
type Gateway struct {
	readTimeout time.Duration
	metrics     *Metrics
	extras      extras
	classifiers []namedClassifier
	limiter     limiter
	denials     denials
	health      *health
	state       state
	instances   *Instances
	balancers   *LoadBalancers
	routes      *Routes
	// changing counts the changes that have not returned, including those that
	// nobody waits for any more.
	changing counter
}

// Open asks the provider once for what it offers, because accessors of existing
// providers are not cheap, and some make something new at each call. The
// provider must have been initialized. Like Initialize, Open returns only when
// the provider does.
func (p *Provider) Open(ctx context.Context, cfg Config) (*Gateway, error) {
	cfg = cfg.withDefaults()
	g := &Gateway{readTimeout: cfg.ReadTimeout, metrics: cfg.Metrics, extras: p.extras, classifiers: classifiersOf(cfg, p.extras), health: newHealth(cfg.Metrics.overdue.Set)}
	var found parts
	for _, accessor := range []struct {
		name string
		open func()
	}{
		{"accessors of instances", func() {
			found.findInstances(p.theirs)
			g.instances = newInstances(g, p.theirs.ProviderName, found, cfg.CallerTimeout)
		}},
		{"accessor of load balancers", func() {
			found.findLoadBalancers(p.theirs)
			g.balancers = newLoadBalancers(g, found, cfg)
		}},
		{"accessor of routes", func() {
			if !cfg.WithoutRoutes {
				found.findRoutes(p.theirs)
			}
			g.routes = newRoutes(g, found.routes, cfg)
		}},
	} {
		err := guard(context.WithoutCancel(ctx), accessor.name, func() error {
			accessor.open()
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return g, nil
}

// Instances returns the provider's instances, nil if it offers none.
func (g *Gateway) Instances() *Instances { return g.instances }

// LoadBalancers returns the provider's load balancers, nil if it offers none.
func (g *Gateway) LoadBalancers() *LoadBalancers { return g.balancers }

// Routes returns the provider's routes, nil if it offers none.
func (g *Gateway) Routes() *Routes { return g.routes }

// RestartNeeded delivers, at most once, the reason why this process must be
// restarted: the provider's state in memory can no longer be trusted.
func (g *Gateway) RestartNeeded() <-chan error { return g.health.restart }

// AwaitChanges returns when no change of the cloud is under way. The lease must
// not be released before that.
func (g *Gateway) AwaitChanges() { g.changing.await() }

var (
	// errQuota is why a call that the limiter holds back takes long.
	errQuota = errors.New("the call waits for the request quota of the cloud, which is used up or seems to be")
	// errEnded is the error of a provider that calls runtime.Goexit.
	errEnded = errors.New("the provider's code ended the goroutine")
)
