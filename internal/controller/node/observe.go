package node

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodecause"
)

// observe gathers what is known without I/O. The answer is one that a refresh
// or a pass has fetched and no pass has used, if there is one.
func (c *Controller) observe(node *corev1.Node) observed {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := observed{now: c.clock.Now(), node: node, memory: c.memories[node.Name], policy: c.policy}
	if fetched, ok := c.fetched[node.Name]; ok {
		delete(c.fetched, node.Name)
		if fetched.uid == node.UID && o.now.Sub(fetched.at) < fetchedFor {
			o.answer, o.answered = fetched.answer, fetched.at
		}
	}
	return o
}

// askCloud asks for the instance of a Node that waits, when there is a place.
func (c *Controller) askCloud(ctx context.Context, node *corev1.Node) answer {
	c.reads <- struct{}{} // The gateway lets go of a call after its timeout, so a place becomes free.
	defer func() { <-c.reads }()
	m, err := c.instances.Metadata(ctx, node)
	return answerOf(m, err)
}

func answerOf(m cloud.Metadata, err error) answer {
	if err != nil {
		return answer{given: refused, cause: nodecause.Of(err)}
	}
	return answer{given: described, instance: instance{
		providerID: m.ProviderID,
		nameless:   m.Nameless,
		size:       m.Type,
		zone:       m.Zone,
		region:     m.Region,
		addresses:  m.Addresses,
		labels:     m.Labels,
	}}
}
