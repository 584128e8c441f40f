package nodelifecycle

import (
	"fmt"
	"slices"
)

// preconditions are the checks that a deletion has to pass. The first one that returns
// an obstacle holds the deletion.
var preconditions = []func(observed) *obstacle{
	existenceIsUnknown, deletionIsSwitchedOff, nodeIsNotOurs, absenceIsUnconfirmed, lastQuestionHasFailed, tooManyAreAbsent,
}

// preconditionsIfTerminated replace them if the evidence is positive: it needs no further
// answers, and neither other Nodes nor a budget.
var preconditionsIfTerminated = []func(observed) *obstacle{existenceIsUnknown, deletionIsSwitchedOff, lastQuestionHasFailed}

func (o observed) preconditions() []func(observed) *obstacle {
	if o.memory.evidence.isTerminated() {
		return preconditionsIfTerminated
	}
	return preconditions
}

// decideSuspicion decides whether a Node goes to the final check.
func decideSuspicion(o observed) plan {
	o.memory = o.memory.of(o.node)
	if p := spared(o); p != nil {
		return *p
	}
	isFirst := o.memory.evidence.checkedAt.IsZero()
	switch {
	case !o.answer.asked.IsZero() && isFirst:
		o.memory.firsts = o.memory.firsts.Used(firstLimit, o.now)
	case !o.answer.asked.IsZero():
	case isFirst && o.now.Before(o.memory.firsts.Next(firstLimit)):
		return asksLater(o)
	case o.isDue():
		return asking(o)
	}
	o.memory.evidence = o.memory.evidence.with(o.answer, o.now)
	if o.isFound() {
		return found(o)
	}
	for _, obstacleTo := range append(slices.Clip(o.preconditions()), contradictionIsFresh) {
		if ob := obstacleTo(o); ob != nil {
			return held(o, *ob)
		}
	}
	if wait := o.memory.nextCheck.Sub(o.now); wait > 0 {
		return plan{do: doNothing, why: "the final check has just failed", after: min(wait, o.untilDue()), memory: o.memory}
	}
	return plan{do: enqueueDeletion, why: "the absence is confirmed", after: o.untilDue(), memory: o.memory}
}

// decideDeletion makes the decisions of the final check. It asks the cloud about the
// Node even if no question is due, then about witnesses while their answers are missing,
// and once more about the Node: the cloud might have been at fault when it called the
// Node absent, and might have recovered before it confirmed the witnesses. If it holds
// the deletion, the next final check has to wait.
func decideDeletion(o observed, c check) plan {
	o.memory = o.memory.of(o.node)
	if p := spared(o); p != nil {
		return *p
	}
	if !c.asked {
		return asking(o)
	}
	o.memory.evidence = o.memory.evidence.with(o.answer, o.now)
	if o.isFound() {
		return found(o)
	}
	for _, obstacleTo := range o.preconditions() {
		if ob := obstacleTo(o); ob != nil {
			return heldInCheck(o, *ob)
		}
	}
	w := o.witnesses()
	switch {
	case o.memory.evidence.isTerminated():
		return removing(o, o.memory.evidence.termination())
	case o.limits.Witnesses == 0:
		return removing(o, "the cloud says that the instance does not exist")
	case w.contradicting != nil && w.contradicting.record.tried.Before(o.memory.evidence.answered):
		return askingWitness(o, w.contradicting)
	case w.contradicting != nil && c.mayAsk(o.limits) && w.toAskMeanwhile(o) != nil:
		return askingWitness(o, w.toAskMeanwhile(o))
	case w.contradicting != nil:
		return heldInCheck(o, *o.contradicted(w))
	case c.again:
		return removing(o, fmt.Sprintf("the cloud says that the instance does not exist, and confirms %d other Nodes", max(w.seen, 1)))
	}
	if p := zoneDecides(o, c); p != nil {
		return *p
	}
	switch {
	case w.areEnough(o):
		return plan{do: askAgain, why: "the cloud may have recovered since it was asked about the Node", memory: o.memory}
	case w.next != nil && c.mayAsk(o.limits):
		return askingWitness(o, w.toAsk(o))
	case o.isForeign() && c.mayAsk(o.limits) && o.reference() != nil:
		return askingWitness(o, o.reference())
	case o.isForeign() && (w.others > 0 || len(o.peers.confirmed) > 0):
		return heldInCheck(o, obstacle{cause: isForeign(o.node)})
	case w.others > 0:
		return heldInCheck(o, obstacle{cause: tooFewWitnesses(w)})
	default:
		return alone(o)
	}
}
