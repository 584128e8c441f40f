package cloud

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/fairlead-k8s/fairlead/provider"
)

// Config has the numbers of the gateway. Its zero values work.
type Config struct {
	// ReadTimeout is the deadline of a call that changes nothing; 0 means five
	// minutes. It is long since existing providers retry inside.
	ReadTimeout time.Duration
	// ChangeTimeout is the deadline of a call that changes the cloud; 0 means a
	// quarter of an hour, since existing providers wait inside for minutes.
	ChangeTimeout time.Duration
	// ClusterName is what the provider tells this cluster's load balancers and routes by.
	ClusterName string
	// WithoutRoutes leaves the provider's routes alone: not even whether it has
	// some is asked.
	WithoutRoutes bool
	// Patience is how long a caller waits before it is let go with Slow; 0
	// means half a minute.
	Patience time.Duration
	// Metrics may be shared by several gateways; nil counts nothing.
	Metrics *Metrics
	// Clock is for tests; nil means the real one.
	Clock clock.PassiveClock
}

// Gateway is the way to a provider.
type Gateway struct {
	readTimeout time.Duration
	clock       clock.PassiveClock
	metrics     *Metrics
	classifier  provider.ErrorClassifier // nil: the provider cannot classify
	pace        pace
	damage      *damage
	state       state
	instances   *Instances
	balancers   *LoadBalancers
	routes      *Routes
	// underWay are the changes that have not returned, those included that nobody
	// waits for any more.
	underWay tally
}

// New resolves what the provider offers, once: accessors of existing providers
// are not cheap, and some build something new at each call. The provider must
// have been initialised.
func New(ctx context.Context, p cloudprovider.Interface, cfg Config) (*Gateway, error) {
	if cfg.ReadTimeout == 0 {
		cfg.ReadTimeout = 5 * time.Minute
	}
	if cfg.ChangeTimeout == 0 {
		cfg.ChangeTimeout = 15 * time.Minute
	}
	if cfg.Patience == 0 {
		cfg.Patience = 30 * time.Second
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.RealClock{}
	}
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics(func(...metrics.Registerable) {})
	}
	g := &Gateway{readTimeout: cfg.ReadTimeout, clock: cfg.Clock, metrics: cfg.Metrics, damage: newDamage(cfg.Metrics.overdue.Set)}
	g.pace.clock = cfg.Clock
	g.classifier, _ = p.(provider.ErrorClassifier)
	if err := resolve(ctx, "instances", func() { g.instances = newInstances(g, p, cfg.Patience) }); err != nil {
		return nil, err
	}
	if err := resolve(ctx, "load balancers", func() { g.balancers = newLoadBalancers(g, p, cfg) }); err != nil {
		return nil, err
	}
	if err := resolve(ctx, "routes", func() { g.routes = newRoutes(g, p, cfg) }); err != nil {
		return nil, err
	}
	return g, nil
}

// Instances returns the provider's instances, nil if it offers none.
func (g *Gateway) Instances() *Instances { return g.instances }

// LoadBalancers returns the provider's load balancers, nil if it offers none.
func (g *Gateway) LoadBalancers() *LoadBalancers { return g.balancers }

// Routes returns the provider's routes, nil if it offers none.
func (g *Gateway) Routes() *Routes { return g.routes }

// Damaged delivers the reason, at most once, why this process should be
// restarted: the provider's state in memory can no longer be trusted.
func (g *Gateway) Damaged() <-chan error { return g.damage.fatal }

// AwaitChanges returns when no change of the cloud is under way: who cannot say
// that must not give a lease back.
func (g *Gateway) AwaitChanges() { g.underWay.await() }

// resolve guards code of the provider that runs outside of a call.
func resolve(ctx context.Context, what string, f func()) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("the provider panicked when it was asked for its %s: %v", what, value)
			klog.FromContext(ctx).Error(err, "The provider panicked", "stack", string(debug.Stack()))
		}
	}()
	f()
	return nil
}

// offered makes a typed nil what its author meant: nothing.
func offered[T any](value T, supported bool) T { //nolint:revive // flag-parameter: the contract's accessors return this pair
	var none T
	if !supported || isNil(reflect.ValueOf(value)) {
		return none
	}
	return value
}

func isNil(v reflect.Value) bool {
	switch v.Kind() { //nolint:exhaustive // all that can be nil
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan, reflect.Interface:
		return v.IsNil()
	default:
		return false
	}
}

// throttledTries is how often a call is made for one question while the cloud
// answers that its quota is used up.
const throttledTries = 5

// read makes a call that changes nothing. A call that the cloud's quota
// refused has not happened, so it is made again at the pace's time.
func read[T any](ctx context.Context, g *Gateway, call string, f func(context.Context) (T, error)) (T, error) {
	progress := progressOf(ctx)
	progress.set(errQuota)
	for try := 1; ; try++ {
		if err := g.pace.wait(ctx, urgencyOf(ctx)); err != nil {
			var none T
			return none, &Error{Call: call, Kind: Canceled, Err: err}
		}
		progress.set(nil)
		value, err := once(ctx, g, call, g.readTimeout, f)
		if KindOf(err) != Throttled || try == throttledTries {
			return value, err
		}
		progress.set(err)
	}
}

var (
	// errQuota is why a call that the pace holds back takes long.
	errQuota = errors.New("the call waits its turn, since the cloud has said that its request quota is used up")
	// errEnded is what a provider does that calls runtime.Goexit.
	errEnded = errors.New("the provider's code ended the goroutine")
)

// once makes one call: with a deadline, recovered, classified, measured.
func once[T any](ctx context.Context, g *Gateway, call string, timeout time.Duration, f func(context.Context) (T, error)) (value T, err error) {
	started := g.clock.Now()
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	returned := g.damage.watch(call, timeout)
	err = &Error{Call: call, Kind: Panicked, Err: errEnded}
	defer func() {
		if value := recover(); value != nil {
			err = &Error{Call: call, Kind: Panicked, Err: fmt.Errorf("the provider panicked: %v", value)}
			g.panicked(ctx, call, value)
		}
		returned()
		g.settle(ctx, call, started, err)
	}()
	value, theirs := f(limited)
	return value, g.wrap(ctx, call, theirs)
}

// wrap gives an error of the provider its kind.
func (g *Gateway) wrap(ctx context.Context, call string, err error) error {
	if err == nil {
		return nil
	}
	kind, pause := classify(err, g.ownWord(ctx, err))
	return &Error{Call: call, Kind: kind, RetryAfter: pause, Err: readable(err)}
}

// readable is an error that does not panic when it is read, as a typed nil does.
func readable(err error) (safe error) {
	defer func() {
		if value := recover(); value != nil {
			safe = fmt.Errorf("the provider's error, a %T, panics when it is read: %v", err, value)
		}
	}()
	_ = err.Error()
	return err
}

// ownWord is what the provider says of its own error, nothing where it cannot.
func (g *Gateway) ownWord(ctx context.Context, err error) (own provider.Classification) {
	if g.classifier == nil {
		return own
	}
	defer func() {
		if value := recover(); value != nil {
			g.panicked(ctx, "ClassifyError", value)
		}
	}()
	return g.classifier.ClassifyError(err)
}

func (g *Gateway) panicked(ctx context.Context, call string, value any) {
	g.damage.panicked(call, value)
	klog.FromContext(ctx).Error(nil, "The provider panicked", "call", call, "panic", value, "stack", string(debug.Stack()))
}

// settle takes note of how a call has ended.
func (g *Gateway) settle(ctx context.Context, call string, started time.Time, err error) {
	took := g.clock.Since(started)
	g.metrics.observe(call, err, took)
	g.state.settled(KindOf(err), g.clock.Now())
	klog.FromContext(ctx).V(4).Info("Called the cloud", "call", call, "took", took, "err", err)
	switch KindOf(err) {
	case Throttled:
		g.pace.throttled(started, RetryAfter(err))
	case Succeeded, Failed, NotFound, NotImplemented, Elsewhere, Pending, Invalid, NoAnswer:
		g.pace.succeeded()
	case Unavailable:
		g.pace.unavailable(RetryAfter(err))
	case Slow, TimedOut, Panicked, Canceled, Denied:
		// Nothing was learnt of the quota.
	}
	g.metrics.pace.Set(g.pace.callsPerSecond())
}

type urgencyKey struct{}

// urgently marks the context of a question that somebody waits for.
func urgently(ctx context.Context) context.Context {
	return context.WithValue(ctx, urgencyKey{}, foreground)
}

func urgencyOf(ctx context.Context) urgency {
	who, _ := ctx.Value(urgencyKey{}).(urgency)
	return who
}
