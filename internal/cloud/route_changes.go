package cloud

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fairlead-k8s/fairlead/provider"
)

// gatherFor is the time that a change waits for other changes that can share its
// call. It is short compared with the duration of a call.
const gatherFor = 5 * time.Millisecond

// routeChange is a change of one route that the provider has not made yet.
type routeChange struct {
	call

	hint  string
	route Route
	done  chan error // gets the result; ErrAlone if the change must be made alone
}

func (w *routeChange) isCreation() bool { return w.method == "CreateRoute" }

// routeChanges uses one call for changes that arrive together. Each change holds
// the key of its CIDR from its arrival until it is done.
type routeChanges struct {
	manyChanges

	routes *Routes
	theirs provider.RouteApplier
	most   int

	gathering sync.Mutex
	waiting   []*routeChange // guarded by gathering
}

func newRouteChanges(r *Routes, theirs provider.RouteApplier) *routeChanges {
	return &routeChanges{manyChanges: manyChanges{changes: &r.changes}, routes: r, theirs: theirs, most: max(theirs.MaxRouteChanges(), 1)}
}

// make makes the change together with others. If it returns true, it is not known
// whether the change was made, and the caller must make the change alone.
func (b *routeChanges) make(ctx context.Context, w *routeChange) (alone bool, err error) {
	if err := b.routes.changes.keys.acquire(w.route.CIDR, w.method); err != nil {
		return false, w.failed(Slow, err)
	}
	w.done = make(chan error, 1)
	b.gathering.Lock()
	b.waiting = append(b.waiting, w)
	if len(b.waiting) == 1 {
		time.AfterFunc(gatherFor, func() { b.send(ctx) })
	}
	b.gathering.Unlock()
	err = <-w.done
	return errors.Is(err, ErrAlone), err
}

// send makes the waiting changes. ctx is the context of the first change.
func (b *routeChanges) send(ctx context.Context) {
	b.gathering.Lock()
	waiting := b.waiting
	b.waiting = nil
	b.gathering.Unlock()
	for together := range slices.Chunk(waiting, b.most) {
		go b.apply(ctx, together)
	}
}

// apply makes the changes with one call, frees their keys, and tells their callers.
func (b *routeChanges) apply(ctx context.Context, together []*routeChange) {
	keys := make([]string, len(together))
	for n, w := range together {
		keys[n] = w.route.CIDR
	}
	if len(together) == 1 { // A change of one route uses the interface that all providers have.
		b.changes.keys.release(keys...)
		together[0].done <- ErrAlone
		return
	}
	const method = "ApplyRoutes"
	c := call{method: method, priority: highPriority, names: []string{method}, split: true}
	var theirs []provider.RouteResult
	began, err := b.carryOut(ctx, c, keys, func(ctx context.Context) error {
		results, err := b.theirs.ApplyRoutes(ctx, b.routes.clusterName, toProvider(together))
		theirs = slices.Clone(results)
		return err
	})
	if err != nil {
		for _, w := range together {
			w.done <- err
		}
		return
	}
	for n, result := range resultsFor(len(together), theirs, func(r provider.RouteResult) (int, error) { return r.Change, r.Err }) {
		w := together[n]
		c := c
		c.names, c.node, c.split = w.names, w.node, false
		w.done <- b.routes.gateway.conclude(ctx, c, began, result)
	}
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
