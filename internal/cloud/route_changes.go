package cloud

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-k8s/fairlead/provider"
)

const (
	// gatherFor is how long a change waits for others that are made with it. It is
	// short beside any call.
	gatherFor = 5 * time.Millisecond
	// aloneFor is how long objects are changed one by one after a call about many of
	// them has failed as a whole: one of them may be the cause.
	aloneFor = time.Minute
)

// routeChange is a change of one route on its way to the provider.
type routeChange struct {
	call

	hint  string
	route Route
	done  chan error // gets errAlone if the change is to be made alone
}

func (w *routeChange) isCreation() bool { return w.method == "CreateRoute" }

// routeChanges makes changes that arrive together with one call. Each change holds
// the key of its CIDR from the time it arrives until it is done.
type routeChanges struct {
	routes *Routes
	theirs provider.RouteApplier
	most   int

	mu      sync.Mutex
	waiting []*routeChange // guarded by mu
	alone   time.Time      // until when changes are made one by one; guarded by mu
}

func newRouteChanges(r *Routes, theirs provider.RouteApplier) *routeChanges {
	return &routeChanges{routes: r, theirs: theirs, most: max(theirs.MaxRouteChanges(), 1)}
}

// applyRoutes describes the call.
func (b *routeChanges) applyRoutes() call {
	const method = "ApplyRoutes"
	return call{method: method, priority: highPriority, names: []string{method}, split: true}
}

// oneByOne reports whether changes are made one by one for now.
func (b *routeChanges) oneByOne() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Now().Before(b.alone) || b.routes.changes.keys.hangs() || b.routes.gateway.health.leftAlone(b.applyRoutes()) != nil
}

// make makes the change together with others. If alone is true, it was not made, or
// it is not known whether it was, and the caller makes it alone.
func (b *routeChanges) make(ctx context.Context, w *routeChange) (alone bool, err error) {
	if err := b.routes.changes.keys.acquire(w.route.CIDR, w.method); err != nil {
		return false, w.failed(Slow, err)
	}
	w.done = make(chan error, 1)
	b.mu.Lock()
	b.waiting = append(b.waiting, w)
	if len(b.waiting) == 1 {
		time.AfterFunc(gatherFor, func() { b.send(ctx) })
	}
	b.mu.Unlock()
	err = <-w.done
	return err == errAlone, err //nolint:errorlint // it is never wrapped
}

// send makes the changes that wait. The context is that of the first one.
func (b *routeChanges) send(ctx context.Context) {
	b.mu.Lock()
	waiting := b.waiting
	b.waiting = nil
	b.mu.Unlock()
	for together := range slices.Chunk(waiting, b.most) {
		go b.carryOut(ctx, together)
	}
}

// carryOut makes the changes with one call, frees their keys, and tells their callers.
func (b *routeChanges) carryOut(ctx context.Context, together []*routeChange) {
	keys := make([]string, len(together))
	for n, w := range together {
		keys[n] = w.route.CIDR
	}
	if len(together) == 1 { // A call about one route has an interface that all providers have.
		b.routes.changes.keys.release(keys...)
		together[0].done <- errAlone
		return
	}
	c := b.applyRoutes()
	b.routes.changes.keys.join(keys, c.method)
	arrived := time.Now()
	var began time.Time // read only after a success, as theirs: an abandoned call may still write them
	var theirs []provider.RouteResult
	err := b.routes.changes.carryOut(ctx, c, keys, func(ctx context.Context) error {
		began = time.Now()
		results, err := b.theirs.ApplyRoutes(ctx, b.routes.clusterName, toProvider(together))
		theirs = slices.Clone(results)
		return err
	})
	if err != nil {
		err = b.afterFailure(arrived, err)
		for _, w := range together {
			w.done <- err
		}
		return
	}
	for n, result := range resultsFor(len(together), theirs, func(r provider.RouteResult) (int, error) { return r.Change, r.Err }) {
		w := together[n]
		if !result.known {
			w.done <- errAlone
			continue
		}
		err := b.routes.gateway.wrap(ctx, c.about(namesOfRoute(w.route)), result.err)
		if err != nil {
			b.routes.gateway.adapt(ctx, w.call, began, err)
		}
		w.done <- err
	}
}

// afterFailure returns the error for the callers after the call has failed as a
// whole: the error itself, or errAlone if one of the routes may be the cause.
func (b *routeChanges) afterFailure(arrived time.Time, err error) error {
	if !mayBeOfOne(err) {
		return err
	}
	b.mu.Lock()
	b.alone = time.Now().Add(aloneFor)
	b.mu.Unlock()
	if KindOf(err) == TimedOut || time.Since(arrived) > aloneFor {
		return err // Another call could take so long that the worker counts as stuck.
	}
	return errAlone
}

func toProvider(together []*routeChange) []provider.RouteChange {
	all := make([]provider.RouteChange, len(together))
	for n, w := range together {
		if w.isCreation() {
			all[n] = provider.RouteChange{Create: w.route.toProvider(), NameHint: w.hint}
		} else {
			all[n] = provider.RouteChange{Delete: w.route.toProvider()}
		}
	}
	return all
}
