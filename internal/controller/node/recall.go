package node

import "github.com/fairlead-k8s/fairlead/internal/controller/step"

// Recall returns the memory of a Node, and reports whether there is any. It does no I/O
// and changes nothing.
func (c *Controller) Recall(name string) (step.Memory, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, known := c.memories[name]
	last, isFetched := c.fetched[name]
	if !isFetched {
		return m.recall(nil), known
	}
	return m.recall(&last), true
}

// recall returns the memory of a Node as a step.Memory. last is the newest answer that
// was kept for a pass, or nil if there is none.
func (m memory) recall(last *fetched) step.Memory {
	r := step.Memory{NextLook: m.nextAsk}
	if !m.waitsSince.IsZero() {
		r.Reason, r.Since, r.Attempts = m.waitsFor, m.waitsSince, m.vain
	}
	if last == nil || m.uid != "" && last.uid != m.uid {
		return r
	}
	switch last.answer.given {
	case described:
		r.Said, r.SaidAt = "the instance is described", last.at
	case refused:
		r.SaidAt = last.at
		r.Said = last.answer.cause.Reason + ": " + last.answer.cause.Message
	case notAsked:
	}
	return r
}
