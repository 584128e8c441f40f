package cloud

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/provider"
)

// call describes one call to a provider on its way from a controller to the
// provider's code.
type call struct {
	// method is the name of the provider's method in metrics and errors.
	method   string
	priority priority
	// The first element of names is the name of the object that the call is about.
	// In a call about many objects, it is the name of the method. The other
	// elements are words that the object's owner has chosen. If an element appears
	// in the text of an error, the gateway does not take it for a word of the
	// cloud. A call that lists routes has no names.
	names []string
	// tenant is the namespace of the Service that the call is about, or ofManyTenants.
	// It is empty if the call is not about a Service.
	tenant string
	// region is the value of the region label of the Node that the call is about. It
	// is empty if there is no Node or no label.
	region string
	// node is the name of the Node that a route leads to. It is empty for other
	// calls.
	node string
	// split means that after a failure, a call is made for each object
	// separately.
	split bool
	// waits means that the call waits at the cloud until something happens. The
	// limiter does not count this call as under way, and ignores its duration.
	waits bool
	// change means that the call changes the cloud.
	change bool
	// again means that the call has failed before, and is made again.
	again bool
	// class is the limiter's class of the call; nil until the call waits for its turn.
	class *class
	// progress, if not nil, gets the reason why the call has not been made yet.
	progress *progress
}

// to returns a copy of the call that asks the same question with another method.
func (c call) to(method string) call {
	c.method = method
	return c
}

// about returns a copy of the call that is about the object with these names.
func (c call) about(names []string) call {
	c.names = names
	return c
}

// object returns a name for the object that the call is about. All objects of a
// tenant share one name, because a tenant can create any number of them. A Node
// and its routes share a name, too, because the same kubelet controls them.
func (c call) object() string {
	switch {
	case c.tenant != "":
		return namespace + c.tenant
	case c.node != "":
		return c.node
	case len(c.names) > 0:
		return c.names[0]
	default:
		return c.method
	}
}

// namespace is the beginning of the name of a tenant's object.
const namespace = "namespace "

// isOfAll reports whether an error of the call is about all objects of its class.
func (c call) isOfAll() bool {
	return len(c.names) == 0 || c.split && (c.tenant == "" || c.tenant == ofManyTenants)
}

// odd returns two values by which panics of the call are remembered: the name of the
// object, and a digest of all its names. Only a digest is kept, because an owner can
// choose long names. The name is empty if the call has no names.
func (c call) odd() (name string, all digest) {
	if len(c.names) == 0 {
		return "", digest{}
	}
	return c.names[0], sha256.Sum256([]byte(strings.Join(c.names, "\n")))
}

type digest [sha256.Size]byte

func (c call) failed(kind Kind, err error) *Error {
	return &Error{Call: c.method, Kind: kind, Err: err}
}

// progress records the reason why a call has not been made yet. A nil progress
// records nothing.
type progress struct {
	also []*progress // the progress of each question that the call answers

	mu    sync.Mutex
	err   error     // nil: the call is under way; guarded by mu
	why   error     // the last err that was not nil; guarded by mu
	began time.Time // when the call began; guarded by mu
	// call is the progress of a call that may take the question; nil if there is none. The
	// question waits until a call has taken it; guarded by mu.
	call *progress
}

func (p *progress) set(err error) {
	if p == nil {
		return
	}
	for _, other := range p.also {
		other.set(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err, p.began, p.call = err, time.Now(), nil
	if err != nil {
		p.why = err
	}
}

// follow makes get return why the given call waits, or has waited if it has begun
// without this question.
func (p *progress) follow(call *progress) {
	p.set(errQuota)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.call = call
}

// underWay returns the time since the call began. It returns 0 if the call has
// not begun.
func (p *progress) underWay() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil || p.began.IsZero() {
		return 0
	}
	return time.Since(p.began)
}

func (p *progress) get() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.call != nil {
		return p.call.waited()
	}
	return p.err
}

// waited returns the reason why the call waits, or has waited.
func (p *progress) waited() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

// read makes a call that changes nothing. If the cloud has throttled the call,
// read makes it again when the limiter allows that.
func read[T any](ctx context.Context, g *Gateway, c call, f func(context.Context) (T, error)) (T, error) {
	var none T
	if err := g.health.leftAlone(c); err != nil {
		return none, err
	}
	c.progress.set(errQuota)
	for try := 1; ; try++ {
		c.again = try > 1
		of, err := g.limiter.wait(ctx, c)
		if err != nil {
			return none, c.unmade(err)
		}
		c.progress.set(nil)
		c.class = of
		began := time.Now()
		value, err := once(ctx, g, attempt{c, g.readTimeout}, f)
		if !g.retries(ctx, tried{c, try, time.Since(began), err}) {
			return value, err
		}
		c.progress.set(err)
	}
}

// unmade returns the error of a call that was not made, for an error of limiter.wait.
func (c call) unmade(err error) error {
	if _, ours := err.(*Error); ours { //nolint:errorlint // only the limiter's own
		return err
	}
	return c.failed(Canceled, err)
}

// attempt is a call that the limiter has let through.
type attempt struct {
	call
	timeout time.Duration
}

// once makes one call. It sets the deadline, recovers from a panic, and
// classifies and measures the outcome.
func once[T any](ctx context.Context, g *Gateway, a attempt, f func(context.Context) (T, error)) (value T, err error) {
	started := time.Now()
	limited, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	returned, hangs := g.health.watch(a), g.watchForHang(a, started)
	err = a.failed(Panicked, errEnded)
	defer func() {
		if value := recover(); value != nil {
			failed := a.failed(Panicked, panicError(value))
			failed.RetryAfter = g.panicked(ctx, a.call, value)
			err = failed
		}
		returned()
		hangs()
		g.record(ctx, a.call, started, err)
		if !a.waits {
			g.limiter.ended(a.class) // ended may start another call, which must already see the outcome of this one.
		}
	}()
	value, theirs := f(limited)
	return value, g.wrap(ctx, a.call, theirs)
}

// watchForHang tells the limiter if a question takes too long. A change is not watched,
// because it may take minutes. The caller must call the returned function after the call.
func (g *Gateway) watchForHang(a attempt, started time.Time) (returned func()) {
	if a.waits || a.change {
		return func() {}
	}
	fired, until := make(chan struct{}), func() {}
	timer := time.AfterFunc(g.limiter.hangsAfter(a.class), func() {
		defer close(fired)
		until = g.limiter.lasts(a, started)
	})
	return func() {
		if !timer.Stop() {
			<-fired
			until()
		}
	}
}

// wrap turns an error of the provider into an *Error with a Kind.
func (g *Gateway) wrap(ctx context.Context, c call, err error) error {
	if err == nil {
		return nil
	}
	if ours, ok := err.(*Error); ok { //nolint:errorlint // an *Error that a provider has wrapped does not count
		return ours
	}
	e := classifier{own: g.ownClassification(ctx, err), names: c.names}.classify(err)
	e.Call, e.Err = c.method, readable(err)
	switch e.Kind { //nolint:exhaustive // for other kinds, the provider's pause is not bounded
	case Throttled, Unavailable, Conflict:
		e.RetryAfter = min(e.RetryAfter, longestAsked)
	}
	return &e
}

// readable returns an error whose text can be read. Some errors, such as a typed
// nil, panic when they are read.
func readable(err error) (safe error) {
	defer func() {
		if value := recover(); value != nil {
			safe = fmt.Errorf("the provider's error, a %T, panics when it is read: %v", err, value)
		}
	}()
	_ = err.Error()
	return err
}

// namedClassifier classifies errors for the program or the provider.
type namedClassifier struct {
	name     string // for the log, if it panics
	classify func(error) provider.Classification
}

// classifiersOf returns the program's classifier and the provider's classifier,
// in the order in which they are asked.
func classifiersOf(cfg Config, e extras) []namedClassifier {
	var all []namedClassifier
	if cfg.Classify != nil {
		all = append(all, namedClassifier{"Options.Classify", cfg.Classify})
	}
	if e.classifier != nil {
		all = append(all, namedClassifier{"ClassifyError", e.classifier.ClassifyError})
	}
	return all
}

// ownClassification asks the program, and then the provider, to classify the
// error. It returns the zero value if neither knows the error.
func (g *Gateway) ownClassification(ctx context.Context, err error) provider.Classification {
	for _, c := range g.classifiers {
		if own := g.ask(ctx, c, err); saysSomething(own) {
			return own
		}
	}
	return provider.Classification{}
}

func (g *Gateway) ask(ctx context.Context, c namedClassifier, err error) provider.Classification {
	defer func() {
		if value := recover(); value != nil {
			g.panicked(ctx, call{method: c.name, names: []string{c.name}}, value)
		}
	}()
	return c.classify(err)
}

// panicked records a panic. It returns the time during which no more calls about
// the object are to be made.
func (g *Gateway) panicked(ctx context.Context, c call, value any) time.Duration {
	klog.FromContext(ctx).Error(nil, "The provider panicked", "call", c.method, "panic", value, "stack", string(debug.Stack()))
	return g.health.panicked(c, value)
}

// record records how a call has ended.
func (g *Gateway) record(ctx context.Context, c call, started time.Time, err error) {
	took := time.Since(started)
	g.metrics.observe(c.method, err, took)
	g.state.record(KindOf(err))
	klog.FromContext(ctx).V(4).Info("Called the cloud", "call", c.method, "took", took, "err", err)
	g.adapt(ctx, c, started, err)
}

// adapt tells the limiter how a call has ended. After a call about many objects, adapt is
// called for each object.
func (g *Gateway) adapt(ctx context.Context, c call, started time.Time, err error) {
	now := g.limiter.record(c, started, err)
	now.mark(err)
	kind, perSecond := g.limiter.rateOf(c)
	g.metrics.rate.WithLabelValues(kind).Set(perSecond)
	if now.changed != "" {
		klog.FromContext(ctx).Info("Calls to the cloud are limited", "call", c.method, "why", now.changed, "callsPerSecond", perSecond, "err", err)
	}
}
