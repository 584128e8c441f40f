package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// observed has everything that a decision about one Node may use.
type observed struct {
	now    time.Time
	node   *corev1.Node // from the informer, must not be changed
	answer answer
	// answered is when the cloud gave the answer or, if the refresh asked for it, when the
	// refresh asked.
	answered time.Time
	// holder is the name of another Node that has the provider ID of the cloud's
	// answer, empty if there is none, if the ID is this Node's own, or if this Node has
	// no provider ID.
	holder string
	memory memory
	policy LabelPolicy
	// unwritten is why a write of this pass was refused; zero means that none was
	// refused.
	unwritten message.Cause
	// strictIDs means that no other provider ID than the Node's own is accepted
	// from the cloud.
	strictIDs bool
	// marks means that this controller labels the Nodes whose provider IDs it writes.
	marks bool
	// always means that each Node shows that it is initialised, even one that has
	// shown no wait.
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

// answer is what the cloud said of the instance behind the Node.
type answer struct {
	given    given
	instance instance      // if described
	cause    message.Cause // if refused
	// again is how long to wait before asking again if the cloud is down for all Nodes.
	// Then nothing is known of this Node. It is 0 if the cloud is not down.
	again time.Duration
}

// instance is what the cloud said of an instance. A field that the cloud did
// not name is empty.
type instance struct {
	providerID         string
	nameless           bool // the provider has no provider IDs
	size, zone, region string
	addresses          []corev1.NodeAddress
	labels             map[string]string
}

// memory is what this process remembers of a Node between passes.
type memory struct {
	uid types.UID
	// waitsSince is when the Node began to wait; zero: it does not wait.
	waitsSince time.Time
	// waitsFor is the reason that was found last.
	waitsFor string
	// vain counts the answers in a row that asking again soon would not change.
	// nextAsk is when the cloud is asked again after such an answer.
	vain    int
	nextAsk time.Time
	// questions is the allowance of questions about the Node while it waits.
	questions allowance.Allowance
	// recorded is the reason that the last event named, recordedAt is when it
	// was recorded.
	recorded   string
	recordedAt time.Time
	// notices are the messages about the Node that were recorded last.
	notices string
	// missing is, for each label that came from the cloud, how many answers in a
	// row have left it out.
	missing map[string]int
	// said identifies the last event about the owner of the Node, as aboutOwner does.
	said string
	// released means that this process has initialised the Node, and that the
	// condition may still have to be written. shownAt is when the condition was last
	// set to True.
	released bool
	shownAt  time.Time
}

// afterWait returns what remains of the memory when the Node does not wait. The
// allowance of questions remains, because a kubelet can make its Node wait again.
func (m memory) afterWait() memory {
	return memory{uid: m.uid, questions: m.questions, shownAt: m.shownAt}
}

// action is what a pass does.
type action string

const (
	doNothing action = "nothing"
	ask       action = "ask the cloud" // then decide again
	wait      action = "wait"          // show on the Node why, and retry
	release   action = "release"       // write everything, the removal of the taint last
	update    action = "update"        // write what differs
)

// plan is what to do with one Node, and why.
type plan struct {
	do  action
	why string
	// after is how long to wait before asking again. If do is wait, 0 means a growing
	// delay that stays short.
	after time.Duration
	// unhurried means that the cloud is asked about other Nodes first.
	unhurried bool
	writes
	memory memory
}

// writes are what a plan writes to the API server, in this order: the status,
// the rest of the Node, events.
type writes struct {
	// addresses replace those in the status; nil leaves them.
	addresses []corev1.NodeAddress
	// condition replaces the condition of the same type; nil leaves it.
	condition *corev1.NodeCondition
	change    change
	events    []message.Event
}

// change is what to write outside the status. A field with the zero value
// changes nothing. A nil value in a map removes the label or annotation.
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

// decideOwn returns the plan for a Node, without what rules_owned.go adds.
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
