package volume

import (
	"context"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// Keys returns the names of all volumes.
func (c *Controller) Keys() []string { return c.informer.GetStore().ListKeys() }

// Plan returns what the controller would do about a volume. It writes nothing.
func (c *Controller) Plan(ctx context.Context, key string) ([]step.Step, error) {
	o, p, err := c.judge(ctx, key)
	if err != nil || o.volume == nil {
		return nil, err
	}
	s := step.Step{Object: "volume/" + key, Effect: step.None, Do: string(p.do), Why: p.why, After: p.after}
	if p.event != nil {
		s.Reason, s.Writes = p.event.Reason, step.Events([]message.Event{*p.event})
	}
	switch p.do {
	case write:
		s.Effect, s.Writes = step.Update, append(s.Writes, step.Entries("label", o.volume.Labels, pointers(p.labels))...)
		if p.affinity != nil {
			s.Writes = append(s.Writes, "node affinity added")
		}
	case wait:
		s.Effect = step.Wait
	case forget, leave, ask:
	}
	return []step.Step{s}, nil
}
