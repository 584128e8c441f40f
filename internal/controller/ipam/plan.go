package ipam

import (
	"context"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// Keys returns the names of all Nodes.
func (c *Controller) Keys() []string { return c.informer.GetStore().ListKeys() }

// Plan returns what the controller would do next about a Node. It reserves and
// writes nothing, so it cannot say which CIDRs the Node would get.
func (c *Controller) Plan(_ context.Context, name string) ([]step.Step, error) {
	o, err := c.observe(name, seen{})
	if err != nil || o.node == nil {
		return nil, err
	}
	p := decide(o)
	s := step.Step{Object: "node/" + name, Effect: step.None, Do: string(p.do), Why: p.why, Reason: p.reason, After: p.after}
	if p.event != nil {
		s.Writes = step.Events([]message.Event{*p.event})
	}
	switch p.do {
	case prove, reserve, write:
		s.Effect, s.Writes = step.Update, append(s.Writes, "podCIDRs set")
	case fence:
		s.Effect, s.Writes = step.Update, append(s.Writes, "annotation "+AnnotationFence+" set")
	case wait:
		s.Effect = step.Wait
	case doNothing, read, release, trust, bar, adopt:
	}
	return []step.Step{s}, nil
}
