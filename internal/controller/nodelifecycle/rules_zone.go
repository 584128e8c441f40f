package nodelifecycle

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// zoneView has the facts about the Nodes in the zone of the Node to decide about. It is
// empty if the zone is not known.
type zoneView struct {
	nodes, reporting int // number of all Nodes that share its budget, and of those that report
	candidates       candidates
}

// doubtFor is the time for which the cloud's answers are doubtful after it has called an
// instance absent and then present.
const doubtFor = 10 * time.Minute

// doubt says why more Nodes than the budget may be absent because the cloud is wrong. It
// is empty if the cloud's view of the Node's own zone can be checked.
func (o observed) doubt() string {
	z, c := o.peers.zone, o.peers.candidates
	switch {
	case o.limits.Witnesses == 0:
		return "No other Node is asked about."
	case z.nodes == 0:
		return "The zone of the Node is not known."
	case z.reporting <= z.nodes/2:
		return fmt.Sprintf("Only %d of %d Nodes of its zone report.", z.reporting, z.nodes)
	case c.denied != nil || c.foreigners > 0:
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

// zoneWitnesses returns the number of other Nodes in the zone that the cloud has
// confirmed since it last called this Node absent, and the number of those that it has
// to confirm.
func (o observed) zoneWitnesses() (seen, needed int) {
	c := o.peers.zone.candidates
	for _, r := range c.confirmed {
		if !r.asked.Before(o.memory.evidence.answered) {
			seen++
		}
	}
	return seen, min(o.limits.Witnesses, c.reporting)
}

// zoneDecides returns the plan of the final check for a Node over the budget whose zone
// has not confirmed the cloud yet, and nil otherwise. Each deletion needs fresh answers
// about the zone: then a cloud whose answers become wrong deletes no further Node.
func zoneDecides(o observed, mayAsk bool) *plan {
	if !o.isOverBudget() {
		return nil
	}
	seen, needed := o.zoneWitnesses()
	next := o.peers.zone.candidates.next
	switch {
	case seen >= needed:
		return nil
	case mayAsk && next != nil && next.record.tried.Before(o.memory.evidence.answered):
		return new(askingWitness(o, next))
	}
	doubt := fmt.Sprintf("The cloud has confirmed only %d of %d other Nodes of its zone.", seen, needed)
	return new(heldInCheck(o, obstacle{cause: overBudget(o.peers.absentees, o.limits, doubt), until: o.overBudgetUntil()}))
}

// zoneOf returns the circle of the Nodes in the same zone. The same zone name in two
// regions means two zones.
func zoneOf(node *corev1.Node) (in circle, known bool) {
	region, name := node.Labels[corev1.LabelTopologyRegion], node.Labels[corev1.LabelTopologyZone]
	return circle{kinOf(node), zoneLabel, region + "/" + name}, name != ""
}
