package node

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// apply carries the plan out. An error for which kube.IsStale holds means that
// the Node has changed and has to be decided upon anew.
func (c *Controller) apply(ctx context.Context, o observed, p plan) (loop.Result, error) {
	logger := klog.FromContext(ctx).WithValues("node", o.node.Name)
	if p.do == wait {
		// Should the condition be refused, the event is all that the owner sees.
		c.tell(o.node, p)
	}
	if err := p.patch(ctx, c.nodes, o.node); err != nil {
		return loop.Result{}, err
	}
	age := c.clock.Since(o.node.CreationTimestamp.Time)
	switch p.do {
	case nothing, ask:
		logger.V(4).Info("Left the node as it is", "why", p.why)
	case wait:
		if len(p.events) > 0 {
			logger.Info("Node waits", "why", p.why)
		}
		return loop.Result{Retry: true}, nil
	case release:
		c.metrics.released(age)
		logger.Info("Initialised the node", "why", p.why, "age", age)
	case update:
		logger.Info("Updated the node", "why", p.why)
	}
	c.tell(o.node, p)
	return loop.Result{}, nil
}

// tell records the plan's events and remembers that it has.
func (c *Controller) tell(node *corev1.Node, p plan) {
	p.record(c.events, node)
	c.remember(node.Name, p.memory)
}

// patcher writes Nodes.
type patcher interface {
	Patch(ctx context.Context, p kube.NodePatch) (*corev1.Node, error)
	PatchStatus(ctx context.Context, name string, p kube.NodeStatusPatch) (*corev1.Node, error)
}

// patch sends what there is to write: the status first, since a Node may only
// be released when its addresses are there (S6), then the rest in one PATCH.
func (w writes) patch(ctx context.Context, nodes patcher, node *corev1.Node) error {
	if w.addresses != nil || w.condition != nil {
		status := kube.NodeStatusPatch{UID: node.UID, Addresses: w.addresses, Condition: w.condition}
		if _, err := nodes.PatchStatus(ctx, node.Name, status); err != nil {
			return err
		}
	}
	if w.change.empty() {
		return nil
	}
	_, err := nodes.Patch(ctx, kube.NodePatch{
		Node:        node,
		ProviderID:  w.change.providerID,
		Labels:      w.change.labels,
		Annotations: w.change.annotations,
		Taints:      w.change.taints,
	})
	return err
}

func (w writes) record(events recorder, node *corev1.Node) {
	for _, e := range w.events {
		events.Node(node, e.Type, e.Reason, e.Message)
	}
}
