package node

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodecause"
	"github.com/fairlead-k8s/fairlead/internal/kube"
)

// observe gathers the facts about the Node. It does no I/O. If a refresh or an earlier
// pass has kept an answer that no pass has used yet, observe uses that answer.
func (c *Controller) observe(node *corev1.Node) observed {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := observed{now: c.clock.Now(), node: node, memory: c.memories[node.Name], policy: c.policy, strictIDs: c.strictIDs, marks: c.marks, always: c.always, claim: c.claim}
	if last, ok := c.fetched[node.Name]; ok && !last.used {
		c.fetched[node.Name] = fetched{uid: last.uid, at: last.at, used: true}
		if last.uid == node.UID && o.now.Sub(last.at) < fetchedFor {
			o = c.identified(o, last.answer)
			o.answered = last.at
		}
	}
	return o
}

// answered returns the observation with the answer that the cloud has just given.
func (c *Controller) answered(o observed, a answer) observed {
	o = c.identified(o, a)
	o.now = c.clock.Now()
	o.answered = o.now
	return o
}

// identified returns the observation with an answer of the cloud, and with the other
// Nodes that have the provider ID of the answer.
func (c *Controller) identified(o observed, a answer) observed {
	o.answer = a
	if a.given == described {
		o.holder, o.twin = c.holderOf(o.node, a.instance.providerID), c.twinOf(o.node, a.instance.providerID)
	}
	return o
}

// holderOf returns the name of another Node that has the provider ID. It returns "" if
// there is no other Node with this ID, if the ID is this Node's own, or if this Node
// has no provider ID.
func (c *Controller) holderOf(node *corev1.Node, id string) string {
	if own := node.Spec.ProviderID; own == "" || id == "" || own == id {
		return ""
	}
	for _, holder := range kube.NodesWithProviderID(c.Informer, id) {
		return holder.Name
	}
	return ""
}

// askUnhurried asks for the instance of a Node that has waited in vain for a long time.
// It returns false if another question of this kind is under way, because these
// questions must not take the workers away from other Nodes.
func (c *Controller) askUnhurried(ctx context.Context, node *corev1.Node) (answer, bool) {
	select {
	case c.unhurried <- struct{}{}:
	default:
		return answer{}, false
	}
	defer func() { <-c.unhurried }()
	m, err := c.instances.MetadataAtLowPriority(ctx, node)
	return answerOf(m, err), true
}

// askCloud asks for the instance of a Node that waits. It blocks while the allowed
// number of look-ups is under way.
func (c *Controller) askCloud(ctx context.Context, node *corev1.Node) answer {
	c.reads <- struct{}{} // This does not block for ever, because the gateway returns after its timeout.
	defer func() { <-c.reads }()
	m, err := c.instances.Metadata(ctx, node)
	return answerOf(m, err)
}

func answerOf(m cloud.Metadata, err error) answer {
	if err != nil {
		return answer{given: refused, cause: nodecause.Of(err), again: cloud.HeldFor(err)}
	}
	return answer{given: described, instance: instance{
		providerID: m.ProviderID,
		nameless:   m.Nameless,
		size:       m.Type,
		zone:       m.Zone,
		region:     m.Region,
		addresses:  m.Addresses,
		labels:     m.Labels,

		moreAddresses: m.MoreAddresses, moreLabels: m.MoreLabels,
	}}
}
