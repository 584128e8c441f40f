package certificate

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// remembered is the process's memory of Nodes and requests.
type remembered struct {
	requests  map[string]memory              // by name of the request
	questions map[string]allowance.Allowance // by name of the Node
	told      map[string]showing.News        // by name of the Node
	approvals allowance.Allowance
}

func newRemembered() remembered {
	return remembered{requests: map[string]memory{}, questions: map[string]allowance.Allowance{}, told: map[string]showing.News{}}
}

// remember stores the decision of a pass.
func (c *Controller) remember(o observed, p plan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range p.events {
		if c.isThere(e.node) {
			c.remembered.told[e.node.Name] = c.remembered.told[e.node.Name].With(p.cause.Reason, o.now)
		}
	}
	name := o.request.Name
	if p.do != wait {
		delete(c.remembered.requests, name)
		c.metrics.waiting.Delete(name)
		return
	}
	c.remembered.requests[name] = p.memory
	c.metrics.waiting.Set(name, p.cause.Reason, o.request.CreationTimestamp.Time)
}

// useQuestion counts a question about the Node.
func (c *Controller) useQuestion(node *corev1.Node, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isThere(node) {
		c.remembered.questions[node.Name] = c.remembered.questions[node.Name].Used(questionLimit, now)
	}
}

// isThere reports whether the Node has not been deleted while a pass was under way. Until
// then forgetNode is still to be called. The caller holds mu.
func (c *Controller) isThere(node *corev1.Node) bool {
	_, err := c.nodes.Cached(node.Name)
	return err == nil
}

// useApproval counts an approval.
func (c *Controller) useApproval(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remembered.approvals = c.remembered.approvals.Used(c.limits.approvals(), now)
}

// forget drops the memory of a request that no longer exists.
func (c *Controller) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.remembered.requests, name)
	c.metrics.waiting.Delete(name)
}

// forgetNode drops the memory of a Node that no longer exists.
func (c *Controller) forgetNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.remembered.questions, name)
	delete(c.remembered.told, name)
}

// contestants returns the names of the requests that wait because several Nodes
// claim one instance.
func (c *Controller) contestants() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, m := range c.remembered.requests {
		if m.reason == identityContested.Name {
			names = append(names, name)
		}
	}
	return names
}
