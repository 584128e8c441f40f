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

// finalCheck makes the final check of one Node, and deletes the Node if the check
// allows it. Only one final check runs at a time.
func (c *Controller) finalCheck(ctx context.Context, name string) (loop.Result, error) {
	err := c.tryDelete(ctx, name)
	c.dequeue(name)
	if err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "Final check failed", "node", name)
	}
	c.suspects.Add(name) // Passes during the final check skipped this Node.
	return loop.Result{}, nil
}

// tryDelete reads the Node from the API server, and asks the cloud about it. Then it
// asks about witnesses, and once more about the Node. If the answers allow it,
// tryDelete deletes the Node.
func (c *Controller) tryDelete(ctx context.Context, name string) error {
	defer c.postpone(name)
	if c.isContradicted(name) {
		return nil // The next pass holds the Node.
	}
	node, err := c.nodes.Live(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return errors.Join(err, c.showNotRead(ctx, name, err))
	}
	o, p, err := c.confirm(ctx, node)
	switch {
	case err != nil:
		return err
	case p.do == remove:
		return c.remove(ctx, o, p)
	}
	_, err = c.apply(ctx, o, p)
	return err
}

// isContradicted reports whether the final check of another Node has met a
// contradiction while this Node was in the queue. Then the same questions would get the
// same answers.
func (c *Controller) isContradicted(name string) bool {
	node, err := c.nodes.Cached(name)
	return err == nil && contradictionIsFresh(c.observe(node)) != nil
}

// confirm decides about a Node that was read from the API server. It asks the cloud
// about the Node, about witnesses, and once more about the Node, until the decision
// needs no more answers. It returns an error only if the context ends.
func (c *Controller) confirm(ctx context.Context, node *corev1.Node) (o observed, p plan, err error) {
	o = c.observe(node)
	for done := (check{}); ; {
		switch p = decideDeletion(o, done); p.do {
		case ask:
			done.asked, o.memory = true, p.memory
			if o.answer, err = c.askExistence(ctx, node); err == nil && o.memory.evidence.isTerminated() {
				o.answer, err = c.askTermination(ctx, node, o.answer)
			}
		case askAgain:
			done.again, o.memory = true, p.memory
			o.answer, err = c.askExistence(ctx, node)
		case askWitness:
			done.questions++
			o.memory, o.answer = p.memory, answer{}
			var answered bool
			if answered, err = c.askAboutWitness(ctx, node, p.witness); !answered {
				done.failures++
			}
		case remove, doNothing, hold, enqueueDeletion:
			return o, p, nil
		}
		if err != nil {
			return o, p, err
		}
		o.now, o.peers = c.clock.Now(), c.peersInCheck(node)
	}
}

// showNotRead holds a Node that cannot be read from the API server.
func (c *Controller) showNotRead(ctx context.Context, name string, why error) error {
	node, err := c.nodes.Cached(name)
	if err != nil || ctx.Err() != nil {
		return nil //nolint:nilerr // the Node is gone, or the context has ended
	}
	o := c.observe(node)
	_, err = c.apply(ctx, o, heldInCheck(o, obstacle{cause: notRead(why)}))
	return err
}

// deleteTries is the number of times that one final check tries to delete a Node. It
// tries again if another client has changed only fields that no decision reads.
const deleteTries = 5

// remove deletes the Node, and then records the events and stores the memory. The API
// server accepts the deletion only if the Node still has the version that was read.
func (c *Controller) remove(ctx context.Context, o observed, p plan) error {
	name := o.node.Name
	err := c.nodes.Delete(ctx, o.node)
	for try := 1; kube.IsStale(err) && try < deleteTries; try++ {
		node, unread := c.nodes.Live(ctx, name)
		if unread != nil || wakes(c.limits, c.claim, o.node, node) {
			c.remember(name, p.memory)
			return nil //nolint:nilerr // the next pass sees the Node as it is now
		}
		o.node = node
		err = c.nodes.Delete(ctx, node)
	}
	r := resultOf(name, err)
	if r.outcome.counts() && !p.memory.evidence.isTerminated() {
		c.countDeletion(o.node)
	}
	if r.outcome != deleted && ctx.Err() != nil {
		return nil //nolint:nilerr // the next leader sees the Node as it is then
	}
	done := concluded(o, p, r)
	if r.outcome != deleted {
		_, applyErr := c.apply(ctx, o, done)
		return errors.Join(r.err, applyErr)
	}
	c.record(o.node, done.events)
	c.remember(name, done.memory)
	c.metrics.deleted.Inc()
	klog.FromContext(ctx).Info("Deleted node", "node", name, "providerID", o.node.Spec.ProviderID, "why", p.why)
	return nil
}

// resultOf classifies the error of a deletion.
func resultOf(name string, err error) result {
	switch {
	case err == nil:
		return result{outcome: deleted}
	case apierrors.IsNotFound(err):
		return result{outcome: missing}
	}
	r := result{outcome: unclear, cause: notDeleted(err), event: deletingFailed(name, err), err: err}
	switch {
	case kube.IsStale(err):
		r.outcome = changed
	case kube.IsRejected(err):
		r.outcome = rejected
	}
	return r
}
