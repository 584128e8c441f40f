package node

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// apply carries out the plan. It patches the Node, then records the events, then stores
// the memory. After a failed patch, apply records and stores nothing, unless the plan
// is to wait: then the event is all that the owner of the Node sees. If kube.IsStale
// returns true for the error, the Node has changed and needs a new plan.
func (c *Controller) apply(ctx context.Context, o observed, p plan) (loop.Result, error) {
	logger := klog.FromContext(ctx).WithValues("node", o.node.Name)
	c.count(o)
	err := p.patch(ctx, c.nodes, o.node)
	if err == nil || p.do == wait {
		p.record(c.events, o.node)
		c.remember(o.node.Name, p.memory)
	}
	if err != nil {
		return loop.Result{}, err
	}
	age := c.clock.Since(o.node.CreationTimestamp.Time)
	switch p.do {
	case doNothing, ask:
		logger.V(4).Info("Left the node as it is", "why", p.why)
		return loop.Result{After: p.after}, nil
	case wait:
		if len(p.events) > 0 {
			logger.Info("Node waits", "why", p.why)
		}
		if p.after > 0 {
			return loop.Result{After: p.after, HighPriority: p.after <= hurriedFor}, nil
		}
		return loop.Result{Retry: true}, nil
	case release:
		c.metrics.released(age)
		logger.Info("Initialized node", "why", p.why, "age", age)
	case update:
		logger.Info("Updated node", "why", p.why)
	}
	return loop.Result{}, nil
}

// patcher writes Nodes.
type patcher interface {
	Patch(ctx context.Context, p kube.NodePatch) (*corev1.Node, error)
	PatchStatus(ctx context.Context, name string, p kube.NodeStatusPatch) (*corev1.Node, error)
}

// patch writes the status first, and then the rest in one PATCH. The order matters: a
// Node must not be released before it has its addresses (promise S6).
func (w writes) patch(ctx context.Context, nodes patcher, node *corev1.Node) error {
	if w.addresses != nil || w.condition != nil || w.without != "" {
		status := kube.NodeStatusPatch{UID: node.UID, Addresses: w.addresses, Condition: w.condition, Without: w.without}
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
