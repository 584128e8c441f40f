package node

import (
	"cmp"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// claims has the provider IDs that the cloud has named for Nodes without one. Two such
// Nodes can be asked about at the same time, and then the informer shows neither ID.
type claims struct {
	mu   sync.Mutex
	name map[string]string // the Node's name by provider ID; guarded by mu
	id   map[string]string // the provider ID by the Node's name; guarded by mu
}

// claim records that the cloud has named the provider ID for a Node. If another Node has
// claimed it, and the claim still holds, claim returns the name of that Node.
func (c *claims) claim(id, name string, holds func(name string) bool) (other string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if first := c.name[id]; first != "" && first != name && holds(first) {
		return first
	}
	c.drop(name)
	c.name[id], c.id[name] = name, id
	return ""
}

// forget drops the claim of a Node that has a provider ID by now, or is gone.
func (c *claims) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(name)
}

// drop is forget for a caller that holds mu.
func (c *claims) drop(name string) {
	if id := c.id[name]; c.name[id] == name {
		delete(c.name, id)
	}
	delete(c.id, name)
}

// twinOf returns the name of another Node that has this Node's provider ID or, if this
// Node has none, the one that the cloud has named (see isTwin).
func (c *Controller) twinOf(node *corev1.Node, named string) string {
	id := cmp.Or(node.Spec.ProviderID, named)
	if id == "" {
		return ""
	}
	for _, other := range kube.NodesWithProviderID(c.Informer, id) {
		if isTwin(node, other) {
			return other.Name
		}
	}
	if node.Spec.ProviderID != "" {
		return ""
	}
	return c.claims.claim(id, node.Name, func(name string) bool {
		other, err := c.cached.Get(name)
		return err == nil && other.Spec.ProviderID == "" && nodefact.Reports(other)
	})
}
