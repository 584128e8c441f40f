package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// absentees has the number of Nodes that share a budget, the number of those that are
// absent, and the number of silent ones whose removal is announced by a taint.
type absentees struct{ absent, nodes, leaving int }

// tooManyAreAbsent implements promise S1 d. If many instances disappear at the same
// time, the cloud's answers may be wrong. The Node waits while they are in doubt (see
// doubt and zoneDecides). If only a condition announces the
// removal of a Node, the Node is deleted at the limited rate, because a kubelet can
// write the conditions of its own Node.
func tooManyAreAbsent(o observed) *obstacle {
	a := o.peers.absentees
	switch {
	case nodefact.IsAnnounced(o.node):
		return nil
	case o.limits.isAnnounced(o.node):
		return tooManyAreDeleted(o, announcedRateLimited)
	case a.absent <= o.limits.Budget.of(a.nodes):
		return nil
	}
	if doubt := o.doubt(); doubt != "" && o.isOverBudget() {
		return &obstacle{cause: overBudget(a, o.limits, doubt), until: o.overBudgetUntil()}
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

// isAnnounced reports whether the removal of the Node is announced. An announced Node
// does not count towards the budget.
func (l Limits) isAnnounced(node *corev1.Node) bool {
	return nodefact.IsAnnounced(node) || l.AnnouncedByConditions && nodefact.IsAnnouncedByCondition(node)
}
