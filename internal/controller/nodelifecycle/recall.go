package nodelifecycle

import "github.com/fairlead-k8s/fairlead/internal/controller/step"

// Recall returns what this process remembers of a Node, and whether the cloud was asked
// about it. It does no I/O. It changes nothing except the counts of Nodes that depend on
// the time, which it updates.
func (c *Controller) Recall(name string) (step.Memory, bool) {
	node, err := c.nodes.Cached(name)
	if err != nil {
		return step.Memory{}, false // A Node that is gone is forgotten in the next pass.
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

// recall returns what is remembered of a Node about which the cloud was asked, and what
// the rules make of it now.
func (o observed) recall() step.Memory {
	e, h := o.memory.evidence, o.memory.holding
	p := decideSuspicion(o)
	r := step.Memory{Do: string(p.do), Reason: h.reason, Since: h.since, Said: e.said(), SaidAt: e.checkedAt, NextLook: e.checkedAt.Add(o.pause())}
	if p.do == hold { // Otherwise the reason is known after the next question.
		r.Reason, r.Text, r.Since = p.memory.holding.reason, p.why, p.memory.holding.since
	}
	if e.presence == absent {
		r.Evidence = &step.Evidence{Absences: e.absences, Of: o.limits.Absences, Since: e.since, For: o.limits.absentFor(o.node, o.now).String()}
	}
	return r
}

// said returns what the cloud has said last, in words.
func (e evidence) said() string {
	switch {
	case !e.failure.IsZero():
		return e.failure.Reason + ": " + e.failure.Message
	case e.presence == present:
		return "the instance exists"
	case e.presence == absent:
		return "the instance does not exist"
	default:
		return ""
	}
}
