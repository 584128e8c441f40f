package nodelifecycle

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/kube"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// apply carries out a plan that neither asks the cloud nor deletes the Node. It patches
// the Node, then records the events, then stores the memory. If a patch fails, it still
// records the events and stores the memory, because the events are then all that the
// owner of the Node sees. It writes the taints even if the write of the condition has
// failed.
func (c *Controller) apply(ctx context.Context, o observed, p plan) (loop.Result, error) {
	logger := klog.FromContext(ctx).WithValues("node", o.node.Name)
	unshown, untainted := c.patchCondition(ctx, o.node, p), c.patchTaints(ctx, o.node, p)
	if p.condition != nil && unshown == nil {
		p.memory.holding.wrote, p.memory.holding.wroteAt = p.condition.Status, o.now
	}
	if p.taints != nil && ctx.Err() == nil {
		p = p.tainted(refusalOf(untainted))
	}
	err := errors.Join(unshown, untainted)
	c.record(o.node, p.events)
	c.remember(o.node.Name, p.memory)
	switch {
	case kube.IsStale(err), apierrors.IsNotFound(err):
		return loop.Result{Retry: true}, nil // The next pass sees the Node as it is now.
	case err != nil:
		return loop.Result{}, err
	}
	if p.taints != nil {
		logger.Info("Changed shutdown taint", "why", p.why)
	}
	switch p.do {
	case doNothing, ask, askWitness, askAgain, remove:
		logger.V(4).Info("Left the node as it is", "why", p.why)
	case hold:
		if len(p.events) > 0 {
			logger.Info("Node deletion held", "why", p.why)
		}
	case enqueueDeletion:
		c.enqueueDeletion(o.node.Name)
	}
	return loop.Result{After: p.after}, nil
}

// refusalOf returns the event that reports a failed write of the shutdown taint. It
// returns nil if there is nothing to report.
func refusalOf(err error) *message.Event {
	if err == nil || kube.IsStale(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return new(taintFailed(err))
}

func (c *Controller) patchCondition(ctx context.Context, node *corev1.Node, p plan) error {
	if p.condition == nil {
		return nil
	}
	_, err := c.nodes.PatchStatus(ctx, node.Name, kube.NodeStatusPatch{UID: node.UID, Condition: p.condition})
	return err
}

func (c *Controller) patchTaints(ctx context.Context, node *corev1.Node, p plan) error {
	if p.taints == nil {
		return nil
	}
	_, err := c.nodes.Patch(ctx, kube.NodePatch{Node: node, Taints: p.taints})
	return err
}

func (c *Controller) record(node *corev1.Node, events []message.Event) {
	for _, e := range events {
		c.events.Node(node, e.Type, e.Reason, e.Message)
	}
}
