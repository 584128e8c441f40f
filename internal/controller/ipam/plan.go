package ipam

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// Plan returns the steps that a new leader would take for a Node. It reserves and
// writes nothing, so it cannot name the CIDRs that the Node would get.
func (c *Controller) Plan(_ context.Context, name string) ([]step.Step, error) {
	c.planned.Do(c.enterCached)
	o, err := c.observe(name, seen{full: c.full()})
	if err != nil || o.node == nil {
		return nil, err
	}
	var fenced []string
	p := decide(o)
	for ; p.do == trust || p.do == fence || p.do == prove; p = decide(o) {
		switch p.do { //nolint:exhaustive // the loop ends with any other action
		case fence:
			fenced = []string{"annotation " + AnnotationFence + " set"}
			o.node = o.node.DeepCopy()
			o.node.Annotations = maps.Clone(o.node.Annotations)
			if o.node.Annotations == nil {
				o.node.Annotations = map[string]string{}
			}
			o.node.Annotations[AnnotationFence] = o.self
		case trust:
			o.entry.suspect, o.suspects = false, 0 // A leader gives no CIDRs before it has fenced all suspect Nodes.
		case prove:
			o.others.proven = o.now
		}
	}
	s := step.Step{Object: "node/" + name, Effect: step.None, Do: string(p.do), Why: p.why, Reason: p.reason, Writes: fenced, After: p.after}
	if p.event != nil {
		s.Writes = append(s.Writes, step.Events([]message.Event{*p.event})...)
	}
	switch {
	case p.do == wait:
		s.Effect = step.Wait
	case p.do == reserve:
		s.Effect, s.Writes = step.Update, append(s.Writes, "podCIDRs set")
	case len(s.Writes) > 0:
		s.Effect = step.Update
	}
	return []step.Step{s}, nil
}

// enterCached enters all Nodes of the cache into the ledger.
func (c *Controller) enterCached() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, node := range c.Informer.GetStore().List() {
		c.enterNode(node.(*corev1.Node))
	}
}
