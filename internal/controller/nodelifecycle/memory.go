package nodelifecycle

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// remember stores the memory of a Node after a pass, and tells the metrics
// whether the Node is held.
func (c *Controller) remember(name string, m memory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.holding.reason == "" {
		c.metrics.held.Delete(name)
	} else {
		c.metrics.held.Set(name, m.holding.reason, m.holding.since)
	}
	c.index.judge(name, m.evidence, c.clock.Now())
	if m.isEmpty(c.clock.Now()) {
		delete(c.memories, name)
		return
	}
	c.memories[name] = m
}

// forget drops the memory of a Node that is gone.
func (c *Controller) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.memories, name)
	c.index.judge(name, evidence{}, c.clock.Now())
	c.metrics.held.Delete(name)
}

// indexNode adds a Node to the index, or updates it there.
func (c *Controller) indexNode(node *corev1.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index.set(node, c.memories[node.Name].evidence, c.clock.Now())
}

// unindexNode removes a Node from the index.
func (c *Controller) unindexNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index.remove(name)
}

// recordAnswer records the cloud's answer about a Node, for decisions about other
// Nodes.
func (c *Controller) recordAnswer(node *corev1.Node, a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index.record(node, a, c.clock.Now())
}

// postpone makes the next final check of this Node wait for at least minDelay from now.
// It is called after every final check, whatever the result.
func (c *Controller) postpone(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.memories[name]
	if earliest := c.clock.Now().Add(minDelay); ok && m.nextCheck.Before(earliest) {
		m.nextCheck = earliest
		c.memories[name] = m
	}
}

// countDeletion counts a deletion for the rate limit of Nodes like this one. A Node does not count if a taint
// announces its removal.
func (c *Controller) countDeletion(node *corev1.Node) {
	if nodefact.IsAnnounced(node) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index.countDeletion(node, c.clock.Now())
}

// enqueueDeletion adds a Node to the queue of final checks. Until its final check is
// over, no pass asks about the Node.
func (c *Controller) enqueueDeletion(name string) {
	c.mu.Lock()
	c.enqueued[name] = true
	c.mu.Unlock()
	c.deletions.Add(name)
}

func (c *Controller) dequeue(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.enqueued, name)
}

func (c *Controller) isEnqueued(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.enqueued[name]
}
