package nodelifecycle

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
	"github.com/fairlead-k8s/fairlead/internal/loop"
)

// action is the next thing that a pass or a final check does.
type action string

const (
	doNothing       action = "nothing"
	ask             action = "ask the cloud" // then decide again
	hold            action = "hold"          // keep the Node, and show why
	enqueueDeletion action = "enqueue for the final check"
	askWitness      action = "ask about a witness"          // then decide again
	askAgain        action = "ask about the Node once more" // then decide again
	remove          action = "delete"
)

// plan says what to do about one Node, and why.
type plan struct {
	do  action
	why string
	// condition replaces the Node's condition of the same type. taints replace all
	// taints of the Node. For both fields, nil changes nothing.
	condition *corev1.NodeCondition
	taints    *[]corev1.Taint
	events    []message.Event
	// after is the time until the next decision; 0 means that only a change of the Node
	// causes one.
	after   time.Duration
	witness *corev1.Node // to ask about
	memory  memory
}

// obstacle is a reason for a deletion to wait.
type obstacle struct {
	cause message.Cause
	until time.Time // the earliest time at which the deletion can go on; zero if it is not known
	// ends is the time at which the obstacle is gone if nothing changes, for the message.
	// It is zero if this is not known, or if the message would change with each pass.
	ends time.Time
}

// Keys returns the names of all Nodes.
func (c *Controller) Keys() []string { return c.informer.GetStore().ListKeys() }

// Shadow makes no passes. When a Node is due for a pass, Shadow calls the function look
// instead. Follow must be called first, and Run must not be called.
func (c *Controller) Shadow(ctx context.Context, look loop.Reconcile) error {
	return c.suspects.RunAs(ctx, look)
}

// Plan returns the steps that the controller would take for a Node. It uses the
// evidence that earlier calls of Plan have gathered. It also makes the final check, but
// it writes and deletes nothing.
func (c *Controller) Plan(ctx context.Context, name string) ([]step.Step, error) {
	node, err := c.nodes.Cached(name)
	if apierrors.IsNotFound(err) {
		c.forget(name)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o, p, err := c.suspect(ctx, node)
	if err == nil && p.do == enqueueDeletion {
		c.remember(name, p.memory)
		if node, err = c.nodes.Live(ctx, name); err == nil {
			o, p, err = c.confirm(ctx, node)
		}
	}
	if err != nil {
		return nil, err
	}
	c.remember(name, p.memory.untold())
	return []step.Step{p.step(o)}, nil
}

// untold returns the memory as if no event had been recorded and no condition written.
// Plans are not carried out, so the next plan must list both again.
func (m memory) untold() memory {
	m.holding = holding{since: m.holding.since}
	return m
}

// step returns the part of the plan that a dry run shows.
func (p plan) step(o observed) step.Step {
	s := step.Step{Object: "node/" + o.node.Name, Do: string(p.do), Why: p.why, Effect: step.None, After: p.after}
	if p.condition != nil {
		s.Writes = append(s.Writes, step.Condition(p.condition.Type, p.condition.Status, p.condition.Reason))
	}
	s.Writes = slices.Concat(s.Writes, step.Taints(o.node.Spec.Taints, p.taints), step.Events(p.events))
	switch p.do {
	case remove:
		s.Effect, s.Writes = step.Delete, append(s.Writes, "the Node is deleted")
	case hold:
		s.Effect, s.Reason = step.Wait, p.memory.holding.reason
	case doNothing, ask, askWitness, askAgain, enqueueDeletion:
		if len(s.Writes) > 0 {
			s.Effect = step.Update
		}
	}
	return s
}
