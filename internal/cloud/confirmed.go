package cloud

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// confirmedFor is the least time for which a confirmation is kept. It is at most kept for
// twice as long, so nothing has to be forgotten when a node goes.
const confirmedFor = time.Hour

// confirmed has the provider IDs of the instances whose metadata the provider has returned
// lately. The zero value is ready to use.
type confirmed struct {
	mu          sync.Mutex
	began       time.Time // when now was empty; guarded by mu
	now, before map[string]struct{}
}

// note records an answer. The provider has described the instance of a node that has no
// provider ID yet, or this one.
func (c *confirmed) note(node *corev1.Node, m Metadata) {
	id := m.ProviderID
	if id == "" || node.Spec.ProviderID != "" && node.Spec.ProviderID != id {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := time.Now(); c.now == nil || at.Sub(c.began) >= confirmedFor {
		c.now, c.before, c.began = map[string]struct{}{}, c.now, at
	}
	c.now[string(node.UID)+"/"+id] = struct{}{}
}

// has reports whether the provider has described the instance of this node.
func (c *confirmed) has(node *corev1.Node) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := string(node.UID) + "/" + node.Spec.ProviderID
	_, lately := c.now[key]
	_, earlier := c.before[key]
	return lately || earlier
}

// Confirmed reports whether the provider has returned the metadata of this very node's
// instance, by the node's provider ID, in the last hour or two. It makes no call.
func (i *Instances) Confirmed(node *corev1.Node) bool { return i.confirmed.has(node) }
