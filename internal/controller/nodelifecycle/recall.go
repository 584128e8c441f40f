package nodelifecycle

import "github.com/fairlead-k8s/fairlead/internal/controller/step"

// Recall returns the memory of a Node, and reports whether the cloud was asked about
// the Node. It does no I/O. It updates the counts that depend on the time, and changes
// nothing else.
func (c *Controller) Recall(name string) (step.Memory, bool) {
	node, err := c.nodes.Cached(name)
	if err != nil {
		return step.Memory{}, false // The next pass forgets a Node that is gone.
	}
	o := c.observe(node)
	o.memory = o.memory.of(node)
	if o.memory.evidence.checkedAt.IsZero() {
		return step.Memory{}, false
	}
	r := o.recall()
	if c.isEnqueued(name) {
		r.Do = string(enqueueDeletion)
	}
	return r, true
}

// recall returns the memory of a Node, and the present decision about it. The cloud
// must have been asked about the Node.
func (o observed) recall() step.Memory {
	e, h := o.memory.evidence, o.memory.holding
	p := decideSuspicion(o)
	r := step.Memory{Do: string(p.do), Reason: h.reason, Since: h.since, Said: e.said(), SaidAt: e.checkedAt, NextLook: e.checkedAt.Add(o.pause())}
	if p.do == hold { // Otherwise, the reason of the last pass is still valid.
		r.Reason, r.Text, r.Since = p.memory.holding.reason, p.why, p.memory.holding.since
	}
	if e.presence == absent {
		r.Evidence = &step.Evidence{Absences: e.absences, Of: o.limits.Absences, Since: e.since, For: o.limits.absentFor(o.node, o.now).String()}
	}
	return r
}

// said describes the cloud's last answer in words.
func (e evidence) said() string {
	switch {
	case !e.failure.IsZero():
		return e.failure.Reason + ": " + e.failure.Message
	case e.presence == present:
		return "the instance exists"
	case e.isTerminated():
		return e.termination()
	case e.presence == absent:
		return "the instance does not exist"
	default:
		return ""
	}
}
