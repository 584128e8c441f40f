package nodelifecycle

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// Limits are the settings of the rules (promise S1).
type Limits struct {
	// Off holds every deletion.
	Off bool
	// NotFoundIsAbsent means that the error "instance not found" counts as an answer
	// that the instance does not exist, if the Node has a provider ID.
	NotFoundIsAbsent bool
	// SilentAfter is for a kubelet that does not report Ready. Such a kubelet counts
	// as silent once its last report is this old.
	SilentAfter time.Duration
	// Absences is how many answers have to say "absent". The question of the last
	// one has to begin at least AbsentFor after the first one came. For a Node
	// that is younger than YoungAge or still waits to be initialised, this time is
	// YoungAbsentFor if that is longer.
	Absences                            int
	AbsentFor, YoungAge, YoungAbsentFor time.Duration
	// Witnesses is how many other Nodes whose kubelets report have to be
	// confirmed. If there are fewer, all of them have to be. 0 means that none
	// has to be.
	Witnesses int
	// WithoutWitnessAfter is how long a Node has to be absent if there is no other
	// Node that could be a witness; 0 means that it is never deleted then.
	WithoutWitnessAfter time.Duration
	// ForeignAfter is how long the cloud has to call a Node absent, while its
	// kubelet reports, before that Node counts as foreign.
	ForeignAfter time.Duration
	// AnnouncedByConditions means that the conditions Drained and
	// MaintenanceInProgress announce a Node, in addition to the taints of
	// autoscalers.
	AnnouncedByConditions bool
	// While more Nodes than Budget are absent together, each has to be absent for
	// OverBudgetAfter. After that, at most OverBudgetRate are deleted in a minute.
	Budget, OverBudgetRate Share
	OverBudgetAfter        time.Duration
	// FirstPause and LongestPause bound the time between questions whose answers
	// stay the same.
	FirstPause, LongestPause time.Duration
}

// DefaultLimits returns the default limits. docs/guides/node-deletion.md gives
// the reason of each.
func DefaultLimits() Limits {
	return Limits{
		SilentAfter:     10 * time.Minute,
		Absences:        3,
		AbsentFor:       30 * time.Second,
		YoungAge:        5 * time.Minute,
		YoungAbsentFor:  2 * time.Minute,
		Witnesses:       10,
		ForeignAfter:    10 * time.Minute,
		Budget:          Share{Nodes: 3, Percent: 10},
		OverBudgetAfter: 10 * time.Minute,
		OverBudgetRate:  Share{Nodes: 5, Percent: 10},
		FirstPause:      5 * time.Second,
		LongestPause:    2 * time.Minute,
	}
}

// absentFor returns how long this Node has to be absent. The time is longer for a
// young Node, because clouds list new instances late. Such a Node has run no pods,
// or only for a short time, so the longer wait does little harm.
func (l Limits) absentFor(node *corev1.Node, now time.Time) time.Duration {
	if nodefact.IsUninitialized(node) || now.Sub(node.CreationTimestamp.Time) < l.YoungAge {
		return max(l.AbsentFor, l.YoungAbsentFor)
	}
	return l.AbsentFor
}

// Share is a number of Nodes. It is the field Nodes or, if that is more, Percent of the
// Nodes that are counted.
type Share struct{ Nodes, Percent int }

func (s Share) of(nodes int) int { return max(s.Nodes, nodes*s.Percent/100) }

func (s Share) String() string { return fmt.Sprintf("max(%d, %d %%)", s.Nodes, s.Percent) }
