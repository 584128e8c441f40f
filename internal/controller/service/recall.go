package service

import "github.com/fairlead-k8s/fairlead/internal/controller/step"

// Recall returns this process's memory of a Service. It returns false if the memory is
// empty. Recall does no I/O and changes nothing.
func (c *Controller) Recall(key string) (step.Memory, bool) {
	m := c.store.memory(key)
	r := m.recall()
	if s, chosen := c.backends.seat(key); chosen {
		r.Backends = s.set.names()
	}
	return r, !m.isEmpty()
}

// recall converts the memory of a Service to a step.Memory.
func (m memory) recall() step.Memory {
	var r step.Memory
	switch {
	case m.deleted:
		r.Said = "the load balancer is gone"
	case !m.ensuredAt.IsZero():
		r.Said, r.SaidAt = "the load balancer is ensured", m.ensuredAt
	}
	if f := m.failure; f.attempts > 0 {
		r.Do, r.Reason, r.Text, r.Since, r.Attempts, r.NextLook = string(f.during), f.cause.Reason, f.cause.Message, f.since, f.attempts, f.until
	}
	return r
}
