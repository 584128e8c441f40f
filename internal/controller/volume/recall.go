package volume

import "github.com/fairlead-k8s/fairlead/internal/controller/step"

// Recall returns this process's memory of a volume, and false if the memory is empty.
// Recall does no I/O and changes nothing.
func (c *Controller) Recall(name string) (step.Memory, bool) {
	v, err := c.volumes.Cached(name)
	if err != nil {
		return step.Memory{}, false // A volume that is gone is forgotten in the next pass.
	}
	o := observed{now: c.clock.Now(), volume: v, memory: c.recall(name).of(v)}
	return o.recall(), !o.memory.isEmpty()
}

// recall returns the memory of a volume, with the plan that the rules make now.
func (o observed) recall() step.Memory {
	m := o.memory
	r := step.Memory{Attempts: m.failures}
	if !m.until.IsZero() {
		r.Do, r.Reason, r.Text, r.NextLook = string(ask), m.reason, m.why, m.until
	}
	if p := decide(o); p.do == wait { // After somebody has removed the labels, the volume waits without a failure.
		r.Do, r.Text, r.NextLook = string(ask), p.why, o.now.Add(p.after)
	}
	if !m.written.IsZero() {
		r.Said, r.SaidAt = "the place of the volume is known", m.written
	}
	return r
}
