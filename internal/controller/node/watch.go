package node

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// watchPause is the pause between two calls of a watch. While calls fail, it grows up
// to longestWatchPause.
const (
	watchPause        = time.Second
	longestWatchPause = time.Minute
)

// watchInstances waits for changes of instances and wakes their Nodes, until the context
// ends.
func (c *Controller) watchInstances(ctx context.Context) {
	pause := watchPause
	for ctx.Err() == nil {
		changes, err := c.watcher.Next(ctx)
		if err != nil {
			pause = min(2*pause, longestWatchPause)
		} else {
			pause = watchPause
			c.wakeChanged(changes)
		}
		c.sleep(ctx, pause)
	}
}

// wakeChanged wakes the Nodes of instances that have changed. A Node that waits to be
// initialised gets a pass. For an initialised Node, the cloud is asked first.
func (c *Controller) wakeChanged(changes cloud.Changes) {
	nodes := map[string]*corev1.Node{} // by name, because the watch can name a Node twice
	for _, id := range changes.ProviderIDs {
		for _, node := range kube.NodesWithProviderID(c.Informer, id) {
			nodes[node.Name] = node
		}
	}
	for _, name := range changes.NodeNames {
		if node, err := c.cached.Get(name); err == nil {
			nodes[name] = node
		}
	}
	for _, node := range nodes {
		switch {
		case isRefreshed(c.claim, node):
			c.woken.add(node.Name, c.clock.Now())
		case nodefact.IsUninitialized(node):
			c.Loop.AddAfter(node.Name, c.woken.untilPass(node.Name, c.clock.Now()))
		}
	}
}

// askAboutWoken asks about the Nodes that the watch has named, until the context
// ends.
func (c *Controller) askAboutWoken(ctx context.Context) {
	for {
		names, next := c.woken.take(c.clock.Now())
		for page := range slices.Chunk(names, c.instances.BatchSize()) {
			differ, _ := c.fetch(ctx, page)
			c.woken.asked(page, differ, c.clock.Now())
		}
		if len(names) > 0 {
			continue
		}
		timer := c.clock.NewTimer(next)
		select {
		case <-c.woken.more:
		case <-timer.C():
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// woken has the Nodes that the watch has named.
type woken struct {
	more chan struct{} // has an element if there might be a Node to ask about

	mu    sync.Mutex
	nodes map[string]wokenNode // guarded by mu
}

// wokenNode is the memory of a Node that the watch has named.
type wokenNode struct {
	named time.Time // the last time at which the watch named the Node
	due   time.Time // the time of the next question about the Node; zero: no question is due
	pass  time.Time // the time of the next pass, if the Node waits to be initialised
	again bool      // the question that is due, or was asked last, is the second one since the watch named the Node
	// asks is the allowance for questions about an initialised Node. passes is the
	// allowance for passes of a Node that is not initialised yet.
	asks, passes allowance.Allowance
}

// add records that the watch has named a Node.
func (w *woken) add(name string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.nodes[name]
	n.named, n.due, n.again = now, now, false
	w.nodes[name] = n
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// untilPass records that the watch has named a Node that waits to be initialised. It
// returns the time until the next pass of the Node. A pass can ask the cloud and write
// to the API server, so a watch that repeats itself must not cause passes all the time.
func (w *woken) untilPass(name string, now time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.nodes[name]
	n.named = now
	if !n.pass.After(now) {
		n.pass = now
		if allowed := n.passes.Next(wokenLimit); now.Before(allowed) {
			n.pass = allowed
		}
		n.passes = n.passes.Used(wokenLimit, n.pass)
	}
	w.nodes[name] = n
	return n.pass.Sub(now)
}

// idleWoken is the time for which askAboutWoken sleeps if no Node is due.
const idleWoken = time.Hour

// take returns the Nodes to ask about now, and the time until the next one is due.
func (w *woken) take(now time.Time) (names []string, next time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next = idleWoken
	for name, n := range w.nodes {
		at := n.due
		if allowed := n.asks.Next(wokenLimit); at.Before(allowed) {
			at = allowed
		}
		switch {
		case n.due.IsZero():
			if n.asks.IsWhole(now) && n.passes.IsWhole(now) && now.Sub(n.named) > namedFor {
				delete(w.nodes, name)
			}
		case at.After(now):
			next = min(next, at.Sub(now))
		default:
			n.due, n.asks = time.Time{}, n.asks.Used(wokenLimit, now)
			w.nodes[name] = n
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, next
}

// asked records that the cloud was asked about these Nodes. The second parameter has
// the names of those whose answers showed a change. The cloud will be asked once more
// about the others.
func (w *woken) asked(names, news []string, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		n, ok := w.nodes[name]
		if !ok || n.again || !n.due.IsZero() || slices.Contains(news, name) {
			continue
		}
		n.due, n.again = now.Add(askedAgainAfter), true
		w.nodes[name] = n
	}
}

// namedAt returns the last time at which the watch named a Node. It returns the zero
// time if the watch has never named the Node, or has named it so long ago that the
// entry was deleted.
func (w *woken) namedAt(name string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nodes[name].named
}

// watched returns the state of the watch.
func (c *Controller) watched() watched {
	if c.watcher == nil {
		return watched{}
	}
	since, works := c.watcher.Since()
	return watched{works: works, since: since}
}

// compared records the end of a comparison of all Nodes with the cloud. began is the
// time at which the comparison began.
func (c *Controller) compared(began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastCompared = began
	if w := c.watched(); w.works && !began.Before(w.since) {
		c.watcher.Compared()
	}
}

func (c *Controller) comparedAt() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastCompared
}

// found handles a change of a Node that a comparison has found. It tells the watcher
// about the change if the watch might have missed it.
func (c *Controller) found(ctx context.Context, name string) {
	if mayBeMissed(c.watched(), c.comparedAt(), c.woken.namedAt(name), c.clock.Now()) {
		c.watcher.Missed(ctx, name)
	}
}
