package cloud

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// confirmedFor is the least time for which a confirmation is kept. It is at most kept for
// twice as long, so nothing has to be forgotten when a node goes.
const confirmedFor = time.Hour

// maxConfirmed bounds the memory: a list may have the instances of other clusters, too.
const maxConfirmed = 50_000

// confirmed has the provider IDs of the instances that the provider has described or
// listed lately. The zero value is ready to use.
type confirmed struct {
	mu          sync.Mutex
	began       time.Time // when now was empty; guarded by mu
	now, before map[string]struct{}
}

// described records an answer about a node that has no provider ID yet, or this one.
func (c *confirmed) described(node *corev1.Node, m Metadata) {
	if own := node.Spec.ProviderID; own == "" || own == m.ProviderID {
		c.note(m.ProviderID)
	}
}

// note records that the provider knows an instance.
func (c *confirmed) note(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := time.Now(); c.now == nil || at.Sub(c.began) >= confirmedFor || len(c.now) >= maxConfirmed {
		c.now, c.before, c.began = map[string]struct{}{}, c.now, at
	}
	c.now[id] = struct{}{}
}

// Confirmed reports whether the provider has described or listed an instance with the
// node's provider ID in the last hour or two. It makes no call.
func (i *Instances) Confirmed(node *corev1.Node) bool {
	id, c := node.Spec.ProviderID, &i.confirmed
	c.mu.Lock()
	defer c.mu.Unlock()
	_, lately := c.now[id]
	_, earlier := c.before[id]
	return id != "" && (lately || earlier)
}
