package nodelifecycle

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// subject says what a question was about: the Node, and whether the question used
// the Node's name instead of its provider ID.
type subject struct {
	uid    types.UID
	byName bool
}

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
	if m.isEmpty(c.clock.Now()) {
		delete(c.memories, name)
		return
	}
	c.memories[name] = m
}

// forget drops what is remembered under the name of a Node that is gone.
func (c *Controller) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.memories, name)
	c.metrics.held.Delete(name)
}

// recordAnswer remembers what the cloud has said of a Node for the decisions
// about others.
func (c *Controller) recordAnswer(node *corev1.Node, a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := subject{node.UID, node.Spec.ProviderID == ""}
	c.records[s] = c.records[s].with(a, c.clock.Now())
	if a.presence == present && !s.byName {
		c.confirmed[nodefact.Scheme(node)] = true
	}
}

// forgetRecords drops what the cloud has said of a Node that is gone.
func (c *Controller) forgetRecords(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.records, subject{uid, false})
	delete(c.records, subject{uid, true})
}

// postpone delays the next final check of this Node a little, whatever the
// result of the last one was.
func (c *Controller) postpone(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.memories[name]
	if earliest := c.clock.Now().Add(minDelay); ok && m.nextCheck.Before(earliest) {
		m.nextCheck = earliest
		c.memories[name] = m
	}
}

// countDeletion counts a deletion for the rate limit. Announced Nodes do not
// count.
func (c *Controller) countDeletion(node *corev1.Node) {
	if nodefact.IsAnnounced(node) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deleted = append(c.deleted, c.clock.Now())
}

// enqueueDeletion gives a Node to the serial step. Until that is over, no pass
// asks about it.
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
