package node

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// Keys returns the names of all Nodes.
func (c *Controller) Keys() []string { return c.informer.GetStore().ListKeys() }

// Plan returns what the controller would do about a Node. It asks the cloud about
// each Node, even about one that the refresh would ask about later, and writes
// nothing.
func (c *Controller) Plan(ctx context.Context, name string) ([]step.Step, error) {
	node, err := c.nodes.Cached(name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	o := c.observe(node)
	p := decide(o)
	if p.do == ask || isRefreshed(c.claim, node) {
		if p.do == ask {
			o.memory = p.memory
		}
		if o = c.answered(o, c.askCloud(ctx, node)); ctx.Err() != nil {
			return nil, ctx.Err()
		}
		p = decide(o)
	}
	c.remember(name, p.memory.untold())
	return []step.Step{p.step(o)}, nil
}

// untold returns the memory as if nothing had been reported yet, so that a plan
// shows every event.
func (m memory) untold() memory {
	m.recorded, m.recordedAt, m.notices, m.said = "", time.Time{}, "", ""
	return m
}

// step returns the part of the plan that a dry run shows.
func (p plan) step(o observed) step.Step {
	s := step.Step{Object: "node/" + o.node.Name, Do: string(p.do), Why: p.why, Effect: step.None, Writes: p.list(o), After: p.after}
	switch p.do {
	case release:
		s.Effect = step.Create
	case update:
		s.Effect = step.Update
	case wait:
		s.Effect, s.Reason = step.Wait, p.memory.waitsFor
	case doNothing, ask:
		if len(s.Writes) > 0 { // events
			s.Effect = step.Update
		}
		if o.answer.given == refused { // Then nobody knows whether the Node is up to date.
			s.Effect, s.Reason, s.Why = step.Wait, o.answer.cause.Reason, o.answer.cause.Message
		}
	}
	return s
}

// list returns what is written to the Node of the plan.
func (w writes) list(o observed) []string {
	all := step.Addresses(o.node.Status.Addresses, w.addresses)
	if w.condition != nil {
		all = append(all, step.Condition(w.condition.Type, w.condition.Status, w.condition.Reason))
	}
	if w.change.providerID != "" {
		all = append(all, "provider ID: "+w.change.providerID)
	}
	return slices.Concat(all,
		step.Entries("label", o.node.Labels, w.change.labels),
		step.Entries("annotation", o.node.Annotations, w.change.annotations),
		step.Taints(o.node.Spec.Taints, w.change.taints),
		step.Events(w.events))
}
