package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// Limits are the numbers of the rules of removal (S1).
type Limits struct {
	// Off holds every deletion.
	Off bool
	// SilentAfter is how old the last report of a kubelet that does not say
	// Ready may be before it counts as silent.
	SilentAfter time.Duration
	// Absences is how often the cloud has to say absent, over at least
	// AbsentFor; over YoungAbsentFor where the Node is younger than YoungAge or
	// was never initialised.
	Absences                            int
	AbsentFor, YoungAge, YoungAbsentFor time.Duration
	// Witnesses is how many other Nodes whose kubelets report have to be
	// confirmed, where there are as many; 0 asks for none.
	Witnesses int
	// WithoutWitnessAfter is how long a Node has to be absent where no other is
	// left to be confirmed; 0 means for ever.
	WithoutWitnessAfter time.Duration
	// ForeignAfter is how long the cloud has to deny a Node whose kubelet reports
	// before that Node counts as somebody else's.
	ForeignAfter time.Duration
	// More Nodes than Budget, absent together, wait until each was absent for
	// OverBudgetAfter, and then go at OverBudgetRate a minute.
	Budget, OverBudgetRate Share
	OverBudgetAfter        time.Duration
	// FirstPause and LongestPause are between questions that tell nothing new.
	FirstPause, LongestPause time.Duration
}

// DefaultLimits are the limits that ship. Their reasons stand in
// docs/guides/node-deletion.md.
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

// absentFor is how long this Node has to be absent. Clouds list a new instance
// late, and nothing is lost with a Node that never ran a pod.
func (l Limits) absentFor(node *corev1.Node, now time.Time) time.Duration {
	if nodefact.IsUninitialized(node) || now.Sub(node.CreationTimestamp.Time) < l.YoungAge {
		return max(l.AbsentFor, l.YoungAbsentFor)
	}
	return l.AbsentFor
}

// candidate is all that a decision about the removal of one Node may look at.
type candidate struct {
	now      time.Time
	node     *corev1.Node // the informer's: never changed; in the last look the API server's own
	answer   existence
	memory   removalMemory
	roster   roster
	lastLook lastLook
	limits   Limits
}

// roster is what is known of all Nodes together.
type roster struct {
	members []member
	// confirmed are the provider-ID schemes of Nodes that the provider has ever
	// said to be present.
	confirmed map[string]bool
	// deleted is when unannounced Nodes were deleted, in order.
	deleted []time.Time
}

// lastLook is the serial step before a deletion. The zero value is none.
type lastLook struct {
	isOn      bool
	asked     bool // about the candidate
	questions int  // to witnesses
	failures  int  // of these
}

// removalMemory is what this process remembers of a Node between looks.
type removalMemory struct {
	evidence evidence
	holding  holding
	// notLast is until when there is no other last look.
	notLast time.Time
	// deleted is the Node whose deletion the API server has accepted; a cache
	// may go on showing it.
	deleted types.UID
}

// step is what a look at a Node leads to.
type step int

const (
	leave        step = iota
	askExistence      // ask the cloud about this Node, then decide again
	hold              // tell on the Node what is missing, come back later
	lookLast          // hand the Node to the serial step
	askWitness        // ask the cloud about another Node, then decide again
	remove
)

// removalPlan is what to do about the removal of one Node, and why.
type removalPlan struct {
	do  step
	why string
	// condition replaces the one of its type, taints replace all; nil leaves
	// them.
	condition *corev1.NodeCondition
	taints    *[]corev1.Taint
	events    []message.Event
	// after is when to look again; 0 waits for news of the Node.
	after   time.Duration
	witness *corev1.Node // to ask about
	memory  removalMemory
}

// obstacle is why a deletion has to wait, and until when at least; zero where
// nobody knows.
type obstacle struct {
	cause message.Cause
	until time.Time
}

// obstacles keep a Node that the cloud calls absent; the first that is not nil
// counts.
var obstacles = []func(candidate) *obstacle{switchedOff, unconfirmed, failing, crowded, contradicted}

// decideRemoval is the one decision about the removal of one Node.
func decideRemoval(c candidate) removalPlan {
	if uid := c.memory.evidence.uid; uid != "" && uid != c.node.UID {
		c.memory = removalMemory{} // It belongs to another Node.
	}
	if c.memory.deleted == c.node.UID {
		return removalPlan{do: leave, why: "the Node is deleted", memory: c.memory}
	}
	c.memory.evidence = c.memory.evidence.about(c.node)
	if why, excluded := nodefact.IsExcluded(c.node); excluded {
		return removalPlan{do: leave, why: why, memory: removalMemory{evidence: evidence{}.about(c.node)}}
	}
	s := silenceOf(c.node, c.now, c.limits.SilentAfter)
	if !s.silent {
		return reporting(c, s)
	}
	if c.answer.asked.IsZero() && c.isDue() {
		return removalPlan{do: askExistence, why: "the kubelet is silent: " + s.why, memory: c.memory}
	}
	c.memory.evidence = c.memory.evidence.with(c.answer, c.now)
	switch e := c.memory.evidence; {
	case e.said == absent:
		return missing(c)
	case e.failure != message.Cause{}:
		return held(c, obstacle{cause: notAnswered(e.failure)})
	default:
		return found(c)
	}
}

// isDue tells whether the cloud is to be asked now. The last look always asks.
func (c candidate) isDue() bool {
	e := c.memory.evidence
	if c.lastLook.isOn {
		return !c.lastLook.asked
	}
	return e.lookedAt.IsZero() || !c.now.Before(e.lookedAt.Add(c.pause()))
}

// needsRoster tells whether the decision looks at other Nodes: only once the
// absence is confirmed.
func (c candidate) needsRoster() bool {
	e := c.memory.evidence.about(c.node).with(c.answer, c.now)
	return e.isConfirmed(c.limits, c.limits.absentFor(c.node, c.now))
}

// pause is the time from one question to the next.
func (c candidate) pause() time.Duration {
	return c.memory.evidence.pause(c.limits, c.limits.absentFor(c.node, c.now))
}

// untilDue is the time until the cloud is asked again.
func (c candidate) untilDue() time.Duration {
	return max(c.memory.evidence.lookedAt.Add(c.pause()).Sub(c.now), soonest)
}

// soonest is the shortest time after which a Node that has not changed is
// looked at again.
const soonest = time.Second

// reporting lets a Node alone whose kubelet speaks: that resets all evidence.
func reporting(c candidate, s silence) removalPlan {
	p := removalPlan{do: leave, why: "the kubelet is not silent: " + s.why}
	if !s.from.IsZero() {
		p.after = s.from.Sub(c.now)
	}
	c.memory.evidence = evidence{}.about(c.node)
	p.taints = shutdownTaint(c.node, running)
	return stays(c, p, reportsAgain())
}

// found is the end of all suspicion for now.
func found(c candidate) removalPlan {
	p := removalPlan{do: leave, why: "the cloud says that the instance exists", after: c.untilDue()}
	p.taints = shutdownTaint(c.node, c.answer.power)
	return stays(c, p, isFound())
}

// missing goes on with a Node that the cloud calls absent. The ways to say no
// come first.
func missing(c candidate) removalPlan {
	for _, obstacle := range obstacles {
		if o := obstacle(c); o != nil {
			return held(c, *o)
		}
	}
	if wait := c.memory.notLast.Sub(c.now); wait > 0 && !c.lastLook.isOn {
		return removalPlan{do: leave, why: "the last look has been in vain", after: min(wait, c.untilDue()), memory: c.memory}
	}
	if !c.lastLook.isOn {
		return removalPlan{do: lookLast, why: "the absence is confirmed", after: c.untilDue(), memory: c.memory}
	}
	return witnessed(c)
}

func switchedOff(c candidate) *obstacle {
	if !c.limits.Off {
		return nil
	}
	return &obstacle{cause: deletionIsOff()}
}

func unconfirmed(c candidate) *obstacle {
	e, needed := c.memory.evidence, c.limits.absentFor(c.node, c.now)
	if e.isConfirmed(c.limits, needed) {
		return nil
	}
	return &obstacle{cause: notConfirmed(e, c.limits, needed)}
}

// failing holds while the cloud's last word is older than its last failure.
func failing(c candidate) *obstacle {
	if c.memory.evidence.failure == (message.Cause{}) {
		return nil
	}
	return &obstacle{cause: notAnswered(c.memory.evidence.failure)}
}
