package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// observed has the inputs of a decision about one Node.
type observed struct {
	now    time.Time
	node   *corev1.Node // from the informer or, after a conflict, from the API server; must not be changed
	answer answer
	// answered is the time of the answer if a pass asked the question. Otherwise, it is
	// the time of the question.
	answered time.Time
	// holder is the name of another Node that has the provider ID of the cloud's
	// answer. It is empty if there is no other Node with this ID, if the ID is this
	// Node's own, or if this Node has no provider ID.
	holder string
	// twin is the name of another Node that reports and has this Node's provider ID, or
	// the one that this Node would get (see isTwin). It is empty if there is none.
	twin   string
	memory memory
	policy LabelPolicy
	// unwritten says why a write of this pass was refused. It is zero if no write was
	// refused.
	unwritten message.Cause
	// strictIDs means that the provider ID of the cloud's answer must be the Node's
	// own.
	strictIDs bool
	// marks means that this controller labels the Nodes whose provider IDs it writes.
	marks bool
	// always means that each initialised Node shows the condition ConditionInitialized.
	// Otherwise, only Nodes that wait show it.
	always bool
	claim  ownership.Claim
}

// given says how a question to the cloud has ended.
type given int

const (
	notAsked given = iota
	described
	refused
)

// answer is the cloud's answer about the instance of a Node.
type answer struct {
	given    given
	instance instance      // if described
	cause    message.Cause // if refused
	// again is the time to wait before the next question if the cloud is down for all
	// Nodes, and 0 otherwise. If the cloud is down, the answer says nothing about this
	// Node.
	again time.Duration
}

// instance is the cloud's description of an instance. A field is empty if the cloud did
// not name its value.
type instance struct {
	providerID         string
	nameless           bool // the provider has no provider IDs
	size, zone, region string
	addresses          []corev1.NodeAddress
	labels             map[string]string
	// moreAddresses and moreLabels mean that the cloud has named more than is read.
	moreAddresses, moreLabels bool
}

// memory is the state that this process keeps about a Node between passes.
type memory struct {
	uid types.UID
	// waitsSince is the time at which the Node began to wait. It is zero if the Node
	// does not wait.
	waitsSince time.Time
	// waitsFor is the latest reason why the Node waits.
	waitsFor string
	// vain is the number of questions in a row that were in vain (see inVain). nextAsk
	// is the time of the next question. It is zero if the Node is retried with the
	// growing delay of the queue.
	vain    int
	nextAsk time.Time
	// questions is the allowance for questions about the Node while it waits.
	questions allowance.Allowance
	// recorded has the events about the causes of the wait.
	recorded showing.News
	// notices identifies the notices about the Node that were recorded last.
	notices string
	// missing counts, for each label that came from the cloud, the answers in a row
	// that have left the label out.
	missing map[string]int
	// withoutIP counts the answers in a row that would take the last IP address of the
	// Node. withoutIPSince is the time of the first of them.
	withoutIP      int
	withoutIPSince time.Time
	// absences counts the answers in a row that there is no instance of the Node,
	// although its kubelet reports. absentSince is the time of the first of them, and
	// unfound means that they were reported.
	absences    int
	absentSince time.Time
	unfound     bool
	// said is the last key that aboutOwner returned.
	said string
	// released means that this process has initialised the Node, and might still have
	// to write the condition. endedAt is the time at which the condition was last set to
	// True or removed.
	released bool
	endedAt  time.Time
	// twinsAt is the time at which labels were last written because of their twins.
	twinsAt time.Time
}

// afterWait returns the part of the memory that remains when the Node does not wait.
// The allowance for questions remains, because a kubelet can make its Node wait again.
func (m memory) afterWait() memory {
	return memory{uid: m.uid, questions: m.questions, endedAt: m.endedAt, twinsAt: m.twinsAt}
}

// action is the next thing that a pass does.
type action string

const (
	doNothing action = "nothing"
	ask       action = "ask the cloud" // then decide again
	wait      action = "wait"          // show on the Node why, and retry
	release   action = "release"       // write everything, the removal of the taint last
	update    action = "update"        // write the differences
)

// plan says what to do with one Node, and why.
type plan struct {
	do  action
	why string
	// after is the time until the next pass. If the action is wait, 0 means that the
	// Node is retried with the growing delay of the queue.
	after time.Duration
	// unhurried means that the cloud is asked about other Nodes first.
	unhurried bool
	writes
	memory memory
}

// writes has the writes of a plan to the API server. Their order is: the status, the
// rest of the Node, the events.
type writes struct {
	// addresses replace the addresses in the status; nil changes nothing.
	addresses []corev1.NodeAddress
	// condition replaces the condition of the same type; nil changes nothing.
	condition *corev1.NodeCondition
	// without is the type of the condition to remove; "" removes none.
	without corev1.NodeConditionType
	change  change
	events  []message.Event
}

// change has the writes outside the status. A field that has the zero value changes
// nothing. If a value in a map is nil, the label or annotation is removed.
type change struct {
	providerID  string
	labels      map[string]*string
	annotations map[string]*string
	taints      *[]corev1.Taint
}

func (c change) empty() bool {
	return c.providerID == "" && len(c.labels) == 0 && len(c.annotations) == 0 && c.taints == nil
}

// decide returns the plan for one Node.
func decide(o observed) plan {
	if o.memory.uid != o.node.UID {
		o.memory = memory{uid: o.node.UID}
	}
	return owned(o, decideOwn(o))
}

// decideOwn returns the plan for a Node, without the additions of rules_owned.go.
func decideOwn(o observed) plan {
	if why, alone := o.claim.LeavesAlone(o.node); alone {
		return plan{do: doNothing, why: why, memory: o.memory.afterWait()}
	}
	if nodefact.IsUninitialized(o.node) {
		return initialize(o)
	}
	return follow(o)
}

// isRefreshed reports whether the periodic refresh includes the Node.
func isRefreshed(claim ownership.Claim, node *corev1.Node) bool {
	_, alone := claim.LeavesAlone(node)
	return !alone && !nodefact.IsUninitialized(node)
}
