package node

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodecause"
)

// observe gathers what is known without I/O. If a refresh or an earlier pass
// has fetched an answer that no pass has used, observe takes that.
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

// askCloud asks for the instance of a Node that waits. It blocks while as many
// look-ups as the configuration allows are under way.
func (c *Controller) askCloud(ctx context.Context, node *corev1.Node) answer {
	c.reads <- struct{}{} // It does not block for ever, because the gateway returns after its timeout.
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
