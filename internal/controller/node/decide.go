package node

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// observed is all that a decision about one Node may look at.
type observed struct {
	now    time.Time
	node   *corev1.Node // the informer's: never changed
	answer answer
	// answered is when the cloud gave the answer.
	answered time.Time
	memory   memory
	policy   LabelPolicy
}

// given says what the cloud has given as an answer.
type given int

const (
	notAsked given = iota
	described
	refused
)

// answer is what the cloud said of the instance behind the Node.
type answer struct {
	given    given
	instance instance      // where described
	cause    message.Cause // where refused
}

// instance is what the cloud said; empty fields are what it left open.
type instance struct {
	providerID         string
	nameless           bool // the provider has no names for instances
	size, zone, region string
	addresses          []corev1.NodeAddress
	labels             map[string]string
}

// memory is what this process remembers of a Node between passes.
type memory struct {
	uid types.UID
	// waitsSince is when the Node began to wait; zero: it does not.
	waitsSince time.Time
	// waitsFor is the reason of the last look.
	waitsFor string
	// told and toldAt are the reason that the last event named, and when.
	told   string
	toldAt time.Time
	// notices are the messages about the Node that were recorded last.
	notices string
}

// action is what a pass does.
type action int

const (
	nothing action = iota
	ask            // ask the cloud, then decide again
	wait           // tell on the Node why it waits, come back later
	release        // write all, taint off last
	update         // write what differs
)

// plan is what to do with one Node, and why.
type plan struct {
	do  action
	why string
	writes
	memory memory
}

// writes are what a plan says to the API server: patches first, then events.
type writes struct {
	// addresses replace those in the status; nil leaves them.
	addresses []corev1.NodeAddress
	// condition replaces the one of its type; nil leaves it.
	condition *corev1.NodeCondition
	change    change
	events    []message.Event
}

// change is what to write outside the status. Zero values leave a field as it
// is, a nil value removes the label.
type change struct {
	providerID  string
	labels      map[string]*string
	annotations map[string]*string
	taints      *[]corev1.Taint
}

func (c change) empty() bool {
	return c.providerID == "" && len(c.labels) == 0 && len(c.annotations) == 0 && c.taints == nil
}

// decide is the one decision about one Node.
func decide(o observed) plan {
	if o.memory.uid != o.node.UID {
		o.memory = memory{uid: o.node.UID}
	}
	if why, excluded := nodefact.IsExcluded(o.node); excluded {
		return plan{do: nothing, why: why, memory: memory{uid: o.node.UID}}
	}
	if nodefact.IsUninitialized(o.node) {
		return initialize(o)
	}
	return follow(o)
}

// isRefreshed tells whether the periodic look at the cloud includes the Node.
func isRefreshed(node *corev1.Node) bool {
	_, excluded := nodefact.IsExcluded(node)
	return !excluded && !nodefact.IsUninitialized(node)
}
