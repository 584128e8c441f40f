package nodelifecycle

import (
	"time"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// absentees is how many of the Nodes of one provider-ID scheme are absent
// together.
type absentees struct{ absent, nodes int }

// tooManyAreAbsent implements promise S1 d. If many instances disappear at the
// same time, the cloud's answers are probably wrong.
func tooManyAreAbsent(o observed) *obstacle {
	a := o.peers.absentees
	if nodefact.IsAnnounced(o.node) || a.absent <= o.limits.Budget.of(a.nodes) {
		return nil
	}
	if until := o.memory.evidence.since.Add(o.limits.OverBudgetAfter); o.now.Before(until) {
		return &obstacle{cause: overBudget(a, o.limits), until: until}
	}
	if rate, deleted := o.limits.OverBudgetRate.of(a.nodes), o.peers.deleted; len(deleted) >= rate {
		return &obstacle{cause: rateLimited(a, rate), until: deleted[len(deleted)-rate].Add(time.Minute)}
	}
	return nil
}
