package node

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"
)

// refresher spreads the looks at the cloud evenly over the period: a round
// goes through all Nodes by name, a page at each tick, so that a cloud never
// sees more than one call at a time because of us.
type refresher struct {
	period   time.Duration
	parallel int
}

// pause is the time between two pages of a round.
func (r refresher) pause(nodes, page int) time.Duration {
	pages := max((nodes+page-1)/page, 1)
	return r.period / time.Duration(pages)
}

// refresh goes round until the context ends and returns when its last call
// has.
func (c *Controller) refresh(ctx context.Context) {
	var calls sync.WaitGroup
	defer calls.Wait()
	free := make(chan struct{}, c.refresher.parallel)
	page := c.instances.BatchSize()
	for {
		names := c.refreshed()
		pause := c.refresher.pause(len(names), page)
		if len(names) == 0 && !c.sleep(ctx, pause) {
			return
		}
		for names := range slices.Chunk(names, page) {
			if !c.sleep(ctx, pause) {
				return
			}
			select {
			case free <- struct{}{}:
			case <-ctx.Done():
				return
			}
			calls.Go(func() {
				defer func() { <-free }()
				c.fetch(ctx, names)
			})
		}
	}
}

// refreshed are the names of the Nodes that a round looks at, in order.
func (c *Controller) refreshed() []string {
	nodes, err := c.lister.List(labels.Everything())
	if err != nil { // The cache has no errors of its own.
		return nil
	}
	var names []string
	for _, node := range nodes {
		if isRefreshed(node) {
			names = append(names, node.Name)
		}
	}
	slices.Sort(names)
	return names
}

// fetch asks the cloud for a page of Nodes and wakes those that it described.
// What the cloud did not answer is left for the next round: nobody waits.
func (c *Controller) fetch(ctx context.Context, names []string) {
	var page []*corev1.Node
	for _, name := range names {
		if node, err := c.lister.Get(name); err == nil && isRefreshed(node) {
			page = append(page, node)
		}
	}
	failures := 0
	var lastErr error
	for n, got := range c.instances.Refresh(ctx, page) {
		if got.Err != nil {
			failures, lastErr = failures+1, got.Err
			continue
		}
		c.keep(page[n], answerOf(got.Metadata, nil))
		c.loop.Add(page[n].Name)
	}
	if failures > 0 && ctx.Err() == nil {
		klog.FromContext(ctx).V(2).Info("Nodes were not refreshed", "nodes", failures, "first", page[0].Name, "err", lastErr)
	}
}

// sleep returns false when the context has ended.
func (c *Controller) sleep(ctx context.Context, d time.Duration) bool {
	timer := c.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}
