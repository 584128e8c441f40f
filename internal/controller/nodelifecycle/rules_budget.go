package nodelifecycle

import (
	"fmt"
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// tooManyAreAbsent implements promise S1 d. If many instances disappear at the same
// time, the cloud's answers may be wrong. The Node waits while they are in doubt (see
// doubt and zoneDecides). If only a condition announces the removal of a Node, the Node is
// deleted at the limited rate, because a kubelet can write the conditions of its own Node.
func tooManyAreAbsent(o observed) *obstacle {
	a := o.peers.absentees
	switch {
	case o.limits.isTainted(o.node):
		return nil
	case o.limits.isAnnounced(o.node):
		return tooManyAreDeleted(o, announcedRateLimited)
	case a.absent <= o.limits.Budget.of(a.nodes):
		return nil
	}
	if doubt := o.doubt(); doubt != "" && o.isOverBudget() {
		return &obstacle{cause: overBudget(a, o.limits, doubt), until: o.overBudgetUntil(), ends: o.overBudgetUntil()}
	}
	return tooManyAreDeleted(o, rateLimited)
}

// tooManyAreDeleted holds a Node if the deletions of the last minute have used up the
// rate.
func tooManyAreDeleted(o observed, why func(absentees, int) message.Cause) *obstacle {
	a := o.peers.absentees
	if rate, deleted := o.limits.OverBudgetRate.of(a.nodes), o.peers.deleted; len(deleted) >= rate {
		return &obstacle{cause: why(a, rate), until: deleted[len(deleted)-rate].Add(time.Minute)}
	}
	return nil
}

// doubtFor is the time for which the cloud's answers are doubtful after it has called an
// instance absent and then present.
const doubtFor = 10 * time.Minute

// doubt says why more Nodes than the budget may be absent because the cloud is wrong. It
// is empty if the cloud's view of the Node's own zone can be checked.
func (o observed) doubt() string {
	z, w := o.peers.zone, o.among(o.peers.candidates)
	switch {
	case o.limits.Witnesses == 0:
		return "No other Node is asked about."
	case z.nodes == 0:
		return "The zone of the Node is not known."
	case z.reporting <= z.nodes/2:
		return fmt.Sprintf("Only %d of %d Nodes of its zone report.", z.reporting, z.nodes)
	case w.contradicting != nil || len(w.foreign) > 0:
		return "The cloud also calls Nodes absent whose kubelets report."
	case o.now.Sub(o.peers.recanted) < doubtFor:
		return fmt.Sprintf("In the last %v, the cloud has called an instance absent and then present.", doubtFor)
	default:
		return ""
	}
}

// isOverBudget reports whether more Nodes are absent than the budget allows, and this
// Node has not been absent for OverBudgetAfter yet.
func (o observed) isOverBudget() bool {
	a := o.peers.absentees
	return !o.limits.isAnnounced(o.node) && a.absent > o.limits.Budget.of(a.nodes) && o.now.Before(o.overBudgetUntil())
}

func (o observed) overBudgetUntil() time.Time {
	return o.memory.evidence.since.Add(o.limits.OverBudgetAfter)
}

// zoneDecides returns the plan of the final check for a Node over the budget whose zone
// has not confirmed the cloud yet, and nil otherwise. Each deletion needs fresh answers
// about the zone: then a cloud whose answers become wrong deletes no further Node.
func zoneDecides(o observed, c check) *plan {
	if !o.isOverBudget() {
		return nil
	}
	w := o.among(o.peers.zone.candidates)
	needed := min(o.limits.Witnesses, w.reporting)
	switch {
	case w.fresh >= needed:
		return nil
	case w.next != nil && c.mayAsk(o.limits):
		return new(askingWitness(o, w.next))
	}
	doubt := fmt.Sprintf("The cloud has confirmed only %d of %d other Nodes of its zone.", w.fresh, needed)
	return new(heldInCheck(o, obstacle{cause: overBudget(o.peers.absentees, o.limits, doubt), until: o.overBudgetUntil(), ends: o.overBudgetUntil()}))
}
