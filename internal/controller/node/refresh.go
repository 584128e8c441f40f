package node

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// refresher says how often all Nodes are compared with the cloud, and with how many
// calls at the same time.
type refresher struct {
	period   time.Duration
	parallel int
}

// pageAfter returns the next page of names in alphabetical order. The page begins with
// the first name after the name in the second parameter. If no name comes after it,
// pageAfter returns the first page.
func pageAfter(names []string, last string, page int) []string {
	slices.Sort(names)
	from, found := slices.BinarySearch(names, last)
	if found {
		from++
	}
	if from == len(names) {
		from = 0
	}
	return names[from:min(from+page, len(names))]
}

// fetch asks the cloud about a page of Nodes. It triggers a pass for each Node about
// which the cloud has answered, even if the answer is that there is no instance. The
// cloud is asked about the others later. fetch returns the names of the Nodes that differ
// from the cloud's answers, and reports whether the answers have cost nothing.
func (c *Controller) fetch(ctx context.Context, names []string) (differ []string, cached bool) {
	var page []*corev1.Node
	for _, name := range names {
		if node, err := c.cached.Get(name); err == nil && isRefreshed(c.claim, node) {
			page = append(page, node)
		}
	}
	asked := c.clock.Now()
	answers := c.instances.Refresh(ctx, page)
	took := c.clock.Since(asked)
	failures := 0
	var lastErr error
	for n, got := range answers {
		if got.Err != nil {
			failures, lastErr = failures+1, got.Err
			if a := answerOf(got.Metadata, got.Err); saysAbsent(a) {
				c.keep(page[n], a, asked)
				c.Loop.Add(page[n].Name)
			}
			continue
		}
		if differs(c.observedWith(page[n], got.Metadata)) {
			differ = append(differ, page[n].Name)
		}
		c.keep(page[n], answerOf(got.Metadata, nil), asked)
		c.Loop.Add(page[n].Name)
	}
	if failures > 0 && ctx.Err() == nil {
		klog.FromContext(ctx).V(2).Info("Nodes were not refreshed", "nodes", failures, "first", page[0].Name, "err", lastErr)
	}
	return differ, costNothing(took, failures)
}

// sleep waits for d and returns true. It returns false if the context ends first.
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
