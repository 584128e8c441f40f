package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// remember stores the memory of a Node after a pass, and tells the metrics
// whether the Node waits.
func (c *Controller) remember(name string, m memory) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.memories[name] = m
	if m.waitsSince.IsZero() {
		c.metrics.waiting.Delete(name)
		return
	}
	c.metrics.waiting.Set(name, m.waitsFor, m.waitsSince)
}

// keep stores an answer for the next pass, unless the stored answer is newer.
func (c *Controller) keep(node *corev1.Node, a answer, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kept, ok := c.fetched[node.Name]; !ok || kept.uid != node.UID || kept.at.Before(at) || kept.used && kept.at.Equal(at) {
		c.fetched[node.Name] = fetched{uid: node.UID, answer: a, at: at}
	}
}

// forget drops the memory of a Node that is gone.
func (c *Controller) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.memories, name)
	delete(c.fetched, name)
	c.metrics.owners.delete(name)
	c.metrics.waiting.Delete(name)
}
