package node

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// Plan returns the steps that the controller would take for a Node. It writes nothing.
// It asks the cloud at once, even if the controller would wait for the refresh to ask.
// But it asks about an initialised Node at most once in each period of the refresh.
func (c *Controller) Plan(ctx context.Context, name string) ([]step.Step, error) {
	node, err := c.nodes.Cached(name)
	if apierrors.IsNotFound(err) {
		c.forget(name)
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
		if o, err = c.lookUp(ctx, o, p); err != nil {
			return nil, err
		}
		p = decide(o)
	}
	c.remember(name, p.memory.untold())
	return []step.Step{p.step(o)}, nil
}

// lookUp adds the cloud's answer to the observation o. For an initialised Node, it uses
// the last answer again until the refresh is due. So a change of such a Node causes no
// call.
func (c *Controller) lookUp(ctx context.Context, o observed, p plan) (observed, error) {
	waits := p.do == ask
	if last, ok := c.latest(o.node); ok && !waits {
		o = c.identified(o, last.answer)
		o.answered = last.at
		return o, nil
	}
	o = c.answered(o, c.askCloud(ctx, o.node))
	if ctx.Err() != nil {
		return o, ctx.Err() //nolint:wrapcheck // the error of this call's context
	}
	if !waits {
		c.keepForPlan(o)
	}
	return o, nil
}

// latest returns the last answer about a Node in a dry run, if it is younger than the
// period of the refresh.
func (c *Controller) latest(node *corev1.Node) (fetched, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.fetched[node.Name]
	return last, ok && last.uid == node.UID && last.answer.given != notAsked && c.clock.Since(last.at) < c.refresher.period
}

// keepForPlan keeps an answer for the method latest. No pass uses the answer.
func (c *Controller) keepForPlan(o observed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fetched[o.node.Name] = fetched{uid: o.node.UID, answer: o.answer, at: o.answered, used: true}
}

// untold returns the memory as if no event had been recorded yet. So the next plan
// lists all its events, even those that an earlier plan has listed.
func (m memory) untold() memory {
	m.recorded, m.notices, m.said = nil, "", ""
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
		if o.answer.given == refused { // Then it is not known whether the Node is up to date.
			s.Effect, s.Reason, s.Why = step.Wait, o.answer.cause.Reason, o.answer.cause.Message
		}
	}
	return s
}

// list describes the writes of the plan.
func (w writes) list(o observed) []string {
	all := step.Addresses(o.node.Status.Addresses, w.addresses)
	if w.condition != nil {
		all = append(all, step.Condition(w.condition.Type, w.condition.Status, w.condition.Reason))
	}
	if w.without != "" {
		all = append(all, step.NoCondition(w.without))
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
