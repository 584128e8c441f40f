package nodelifecycle

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// Limits are the settings of the rules (promise S1).
type Limits struct {
	// Off means that every deletion is held.
	Off bool
	// NotFoundIsAbsent means that the error "instance not found" counts as an answer
	// that the instance does not exist, if the Node has a provider ID.
	NotFoundIsAbsent bool
	// SilentAfter applies to a Node whose Ready condition is False or missing. The
	// kubelet counts as silent when SilentAfter has passed since its last report or, if
	// there is no report, since the creation of the Node.
	SilentAfter time.Duration
	// Absences is the number of answers "absent" that a deletion needs. At least
	// AbsentFor has to pass from the first of these answers to the beginning of the
	// question with the last one. For a Node that is younger than YoungAge, or that
	// still waits to be initialised, YoungAbsentFor replaces AbsentFor if it is longer.
	Absences                            int
	AbsentFor, YoungAge, YoungAbsentFor time.Duration
	// Witnesses is the number of other Nodes that the cloud has to confirm. Only Nodes
	// whose kubelets report count. If there are fewer such Nodes, the cloud has to
	// confirm all of them. 0 means that no confirmation is needed.
	Witnesses int
	// WithoutWitnessAfter is the time for which a Node has to be absent if no other
	// Node can be a witness. 0 means that a Node without witnesses is never deleted.
	WithoutWitnessAfter time.Duration
	// ForeignAfter is the time after which a Node counts as foreign, if the cloud keeps
	// calling it absent although its kubelet reports.
	ForeignAfter time.Duration
	// AnnouncedByTaints are the keys of the taints that announce the removal of a Node.
	AnnouncedByTaints []string
	// AnnouncedByConditions means that the conditions Drained and MaintenanceInProgress
	// announce the removal of a Node, in addition to the taints.
	AnnouncedByConditions bool
	// Budget is the number of Nodes that may be absent at the same time. While more are
	// absent, a Node is deleted only after it was absent for OverBudgetAfter, unless the
	// cloud's answers about its zone are not doubtful. In any case, at most
	// OverBudgetRate Nodes are deleted in a minute.
	Budget, OverBudgetRate Share
	OverBudgetAfter        time.Duration
	// FirstPause and LongestPause bound the time between two questions. The time grows
	// while the answers stay the same.
	FirstPause, LongestPause time.Duration
}

// DefaultLimits returns the default limits. docs/guides/node-deletion.md gives
// the reason for each.
func DefaultLimits() Limits {
	return Limits{
		SilentAfter:    10 * time.Minute,
		Absences:       3,
		AbsentFor:      30 * time.Second,
		YoungAge:       5 * time.Minute,
		YoungAbsentFor: 2 * time.Minute,
		Witnesses:      10,
		ForeignAfter:   10 * time.Minute,
		AnnouncedByTaints: []string{
			nodefact.TaintToBeDeleted, // cluster-autoscaler
			"karpenter.sh/disrupted",
			"aws-node-termination-handler/spot-itn",
			"aws-node-termination-handler/asg-lifecycle-termination",
			"cloud.google.com/impending-node-termination", // the handler of Google Cloud
			corev1.TaintNodeOutOfService,                  // an administrator: the machine is off and stays off
		},
		Budget:          Share{Nodes: 3, Percent: 10},
		OverBudgetAfter: 10 * time.Minute,
		OverBudgetRate:  Share{Nodes: 5, Percent: 10},
		FirstPause:      5 * time.Second,
		LongestPause:    2 * time.Minute,
	}
}

// isAnnounced reports whether the removal of the Node is announced. An announced Node
// does not count towards the budget.
func (l Limits) isAnnounced(node *corev1.Node) bool {
	return l.isTainted(node) || l.AnnouncedByConditions && nodefact.IsAnnouncedByCondition(node)
}

// isTainted reports whether a taint announces the removal of the Node. A kubelet cannot add
// taints to its Node.
func (l Limits) isTainted(node *corev1.Node) bool {
	return slices.ContainsFunc(l.AnnouncedByTaints, func(key string) bool { return nodefact.HasTaint(node, key) })
}

// absentFor returns the time for which this Node has to be absent. The time is longer
// for a young Node, because clouds list new instances late. A young Node has run no
// pods, or only for a short time, so the longer wait does little harm.
func (l Limits) absentFor(node *corev1.Node, now time.Time) time.Duration {
	if nodefact.IsUninitialized(node) || now.Sub(node.CreationTimestamp.Time) < l.YoungAge {
		return max(l.AbsentFor, l.YoungAbsentFor)
	}
	return l.AbsentFor
}

// Share is a number of Nodes. It has an absolute number and a percentage of all counted
// Nodes, and the larger of the two applies.
type Share struct{ Nodes, Percent int }

func (s Share) of(nodes int) int { return max(s.Nodes, nodes*s.Percent/100) }

func (s Share) String() string { return fmt.Sprintf("max(%d, %d %%)", s.Nodes, s.Percent) }
