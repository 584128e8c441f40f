package nodelifecycle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// observed has the inputs of a decision about one Node.
type observed struct {
	now    time.Time
	node   *corev1.Node // from the informer or, in the final check, from the API server; must not be changed
	answer answer
	memory memory
	peers  peers // set if needsPeers returns true, and in the final check
	limits Limits
	claim  ownership.Claim
}

// check records the progress of a final check.
type check struct {
	asked     bool // the cloud was asked about the Node itself
	again     bool // the cloud was asked about the Node once more, after witnesses were confirmed
	questions int  // number of questions about witnesses
	failures  int  // number of these questions that have failed
}

// memory is the state that this process keeps about a Node between passes.
type memory struct {
	evidence evidence
	holding  holding
	// firsts is the allowance for first questions, which are asked while there is no
	// evidence about the Node. A report of the kubelet resets the evidence, but not the
	// allowance.
	firsts allowance.Allowance
	// nextCheck is the earliest time at which the next final check can begin.
	nextCheck time.Time
	// deleted is the UID of the Node once the API server has accepted its deletion. The
	// cache might still have the Node.
	deleted types.UID
	// untainted means that the last write of the shutdown taint has failed, and that an
	// event has reported this.
	untainted bool
}

// of returns the memory if it belongs to this Node, and an empty memory if it belongs
// to an earlier Node of the same name. The evidence is that of the present silence.
func (m memory) of(node *corev1.Node) memory {
	if uid := m.evidence.uid; uid != "" && uid != node.UID {
		m = memory{}
	}
	m.evidence = m.evidence.about(node).inSilence(node)
	return m
}

// isEmpty reports whether the memory can be dropped. Most Nodes need none.
func (m memory) isEmpty(now time.Time) bool {
	e := m.evidence
	return e.presence == unknown && e.checkedAt.IsZero() && m.firsts.IsWhole(now) && m.holding.reason == "" && m.holding.recorded == nil && now.Sub(m.holding.wroteAt) >= putBackAfter && m.deleted == "" && !m.untainted
}

// action is the next thing that a pass or a final check does.
type action string

const (
	doNothing       action = "nothing"
	ask             action = "ask the cloud" // then decide again
	hold            action = "hold"          // keep the Node, and show why
	enqueueDeletion action = "enqueue for the final check"
	askWitness      action = "ask about a witness"          // then decide again
	askAgain        action = "ask about the Node once more" // then decide again
	remove          action = "delete"
)

// plan says what to do about one Node, and why.
type plan struct {
	do  action
	why string
	// condition replaces the Node's condition of the same type. taints replace all
	// taints of the Node. For both fields, nil changes nothing.
	condition *corev1.NodeCondition
	taints    *[]corev1.Taint
	events    []message.Event
	// after is the time until the next decision; 0 means that only a change of the Node
	// causes one.
	after   time.Duration
	witness *corev1.Node // to ask about
	memory  memory
}

// obstacle is a reason for a deletion to wait.
type obstacle struct {
	cause message.Cause
	until time.Time // the earliest time at which the deletion can go on; zero if it is not known
}

// preconditions are the checks that a deletion has to pass. The first one that returns
// an obstacle holds the deletion.
var preconditions = []func(observed) *obstacle{
	existenceIsUnknown, deletionIsSwitchedOff, nodeIsNotOurs, absenceIsUnconfirmed, lastQuestionHasFailed, tooManyAreAbsent,
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
	for _, obstacleTo := range append(slices.Clip(preconditions), contradictionIsFresh) {
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
// Node even if no question is due. If it holds the deletion, the next final check has
// to wait.
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
	for _, obstacleTo := range preconditions {
		if ob := obstacleTo(o); ob != nil {
			return heldInCheck(o, *ob)
		}
	}
	return witnessed(o, c)
}

// spared returns the plan for a Node that is not suspected. Such a Node has been
// deleted already, or the controller leaves it alone, or its kubelet reports. A report
// of the kubelet resets all evidence. The plan for any other Node is nil.
func spared(o observed) *plan {
	if o.memory.deleted == o.node.UID {
		return &plan{do: doNothing, why: "the Node is deleted", memory: o.memory}
	}
	if why, alone := o.claim.LeavesAlone(o.node); alone {
		return &plan{do: doNothing, why: why, memory: memory{evidence: evidence{}.about(o.node), firsts: o.memory.firsts}}
	}
	s := silenceOf(o.node, o.now, o.limits.SilentAfter)
	if s.silent {
		return nil
	}
	p := plan{do: doNothing, why: "the kubelet is not silent: " + s.why, taints: shutdownTaint(o.node, running)}
	if !s.from.IsZero() {
		p.after = s.from.Sub(o.now)
	}
	o.memory.evidence = evidence{}.about(o.node)
	o.memory.untainted = o.memory.untainted && p.taints != nil
	p = stays(o, p, reportsAgain())
	return &p
}

func asking(o observed) plan {
	o.memory.evidence = o.memory.evidence.begun(o.node, o.now)
	return plan{do: ask, why: "the kubelet is silent: " + silenceOf(o.node, o.now, o.limits.SilentAfter).why, memory: o.memory}
}

// isFound reports whether the last question was answered "present".
func (o observed) isFound() bool {
	return o.memory.evidence.presence != absent && o.memory.evidence.failure.IsZero()
}

func found(o observed) plan {
	return stays(o, plan{
		do: doNothing, why: "the cloud says that the instance exists",
		after: o.untilDue(), taints: shutdownTaint(o.node, o.answer.power),
	}, isFound())
}

// existenceIsUnknown holds a Node if the last answer of the cloud was not "absent".
func existenceIsUnknown(o observed) *obstacle {
	if o.memory.evidence.presence == absent {
		return nil
	}
	return &obstacle{cause: notAnswered(o.memory.evidence.failure)}
}

func deletionIsSwitchedOff(o observed) *obstacle {
	if !o.limits.Off {
		return nil
	}
	return &obstacle{cause: deletionIsOff()}
}

// lastQuestionHasFailed holds a Node if the cloud did not answer the last question
// about the Node.
func lastQuestionHasFailed(o observed) *obstacle {
	if o.memory.evidence.failure.IsZero() {
		return nil
	}
	return &obstacle{cause: notAnswered(o.memory.evidence.failure)}
}
