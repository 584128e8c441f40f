package nodelifecycle

import (
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// absentees is how many of the Nodes of one provider-ID scheme are absent
// together.
type absentees struct{ absent, nodes int }

// absentees counts the Nodes of this Node's scheme. Announced Nodes do not
// count, because they are expected to be absent. A silent Node that the cloud
// was not asked about yet counts: after the first answers of a large failure,
// most silent Nodes have no answer yet.
func (o observed) absentees() absentees {
	var a absentees
	for _, p := range o.peers.nodes {
		if !o.isOfSameScheme(&p) || o.leavesAlone(p.node) {
			continue
		}
		a.nodes++
		if nodefact.IsAnnounced(p.node) || o.isReporting(p) {
			continue
		}
		if p.presence == absent || !p.checked || p.node.Name == o.node.Name {
			a.absent++
		}
	}
	return a
}

// tooManyAreAbsent implements promise S1 d. If many instances disappear at the
// same time, the cloud's answers are probably wrong.
func tooManyAreAbsent(o observed) *obstacle {
	a := o.absentees()
	if nodefact.IsAnnounced(o.node) || a.absent <= o.limits.Budget.of(a.nodes) {
		return nil
	}
	if until := o.memory.evidence.since.Add(o.limits.OverBudgetAfter); o.now.Before(until) {
		return &obstacle{cause: overBudget(a, o.limits), until: until}
	}
	deleted := 0
	for _, at := range o.peers.deleted {
		if o.now.Sub(at) < time.Minute {
			deleted++
		}
	}
	if rate := o.limits.OverBudgetRate.of(a.nodes); deleted >= rate {
		return &obstacle{cause: rateLimited(a, rate), until: o.peers.deleted[len(o.peers.deleted)-rate].Add(time.Minute)}
	}
	return nil
}
