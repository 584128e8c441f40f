package volume

import (
	"context"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// Plan returns the steps that the controller would take for a volume. It writes
// nothing.
func (c *Controller) Plan(ctx context.Context, key string) ([]step.Step, error) {
	o, p, err := c.judge(ctx, key)
	if err != nil {
		return nil, err
	}
	var kept memory
	if p.do == wait { // Keep the number of failures, so that the pauses grow.
		kept = p.memory
		kept.recorded = nil // A plan shows every event.
	}
	c.remember(key, kept)
	if o.volume == nil {
		return nil, nil
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
		s.Effect, s.Reason = step.Wait, p.memory.reason // During a pause there is no event, but the reason is still valid.
	case forget, leave, ask:
	}
	return []step.Step{s}, nil
}
