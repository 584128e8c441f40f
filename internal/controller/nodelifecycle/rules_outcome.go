package nodelifecycle

import (
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// outcome says how the call that deletes a Node has ended.
type outcome string

const (
	deleted  outcome = "deleted"
	missing  outcome = "the Node is gone already"
	changed  outcome = "each write is refused, because the Node has changed since it was read"
	rejected outcome = "the API server rejects the deletion"
	unclear  outcome = "the call has failed, and may have deleted the Node nevertheless"
)

// result is the outcome of a deletion, with the texts that report a failure.
type result struct {
	outcome outcome
	// cause, event and err are set if the deletion has failed.
	cause message.Cause
	event message.Event
	err   error
}

// counts reports whether the rate limit includes the deletion. It includes a deletion
// whose reply is lost, because the API server might have carried it out.
func (r outcome) counts() bool { return r == deleted || r == unclear }

// concluded returns the plan that follows the attempt to delete the Node. p is the plan
// that asked for the deletion.
func concluded(o observed, p plan, r result) plan {
	o.memory, o.answer = p.memory, answer{}
	switch r.outcome {
	case deleted:
		p.events = append(p.events, deleting(o.node.Name))
		p.memory.deleted = o.node.UID
		return p
	case missing:
		return plan{do: doNothing, why: string(r.outcome), memory: p.memory}
	case changed, rejected, unclear:
	}
	failed := heldInCheck(o, obstacle{cause: r.cause})
	if len(failed.events) > 0 && r.outcome != changed {
		failed.events = []message.Event{r.event}
	}
	return failed
}
