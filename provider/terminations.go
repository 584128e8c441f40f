package provider

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Terminations is a cloudprovider.InstancesV2 that knows when a machine was
// terminated, because its cloud still lists machines that have ended. The daemon asks
// only about a Node whose kubelet is silent, after InstanceExists has returned false,
// and at most once for each such answer. If the answer is about this Node, the Node
// goes to the final check at once: no further answers, no other Nodes and no budget are
// needed. The final check calls InstanceExists and InstanceTermination again.
//
// Without it, the daemon waits until the cloud has said several times that the machine
// does not exist, and has confirmed other Nodes.
type Terminations interface {
	// InstanceTermination returns what the cloud itself says about the end of the
	// Node's machine. If the cloud does not list the machine, or does not list it as
	// terminated, InstanceTermination returns the zero value and no error: a machine
	// that is missing proves nothing here. It never looks for the Node's name, because a
	// later machine may have that name. If the cloud does not answer,
	// InstanceTermination returns an error. The daemon then goes on as if the provider
	// did not have this interface. The Node is a copy.
	InstanceTermination(ctx context.Context, node *corev1.Node) (Termination, error)
}

// Termination is the end of a machine. The zero value means that nothing is known.
//
// The daemon ignores a Termination that cannot be the end of the Node's machine: if the
// provider ID is not exactly the Node's, or if At is zero, in the future, or not after
// the creation of the Node and the last report of its kubelet.
type Termination struct {
	// ProviderID is the Node's spec.providerID, once the provider has compared it with
	// the machine that the cloud has listed. If the Node has none, it is empty.
	ProviderID string
	// At is the time at which the machine had ended. It is not the time at which somebody
	// asked for that: a kubelet reports for a while longer, and the daemon takes such a
	// report for one of a later machine. A cloud that never uses an ID again, and does
	// not say when a machine ended, can return the time of this call.
	At time.Time
	// By says who has ended the machine. It is empty if the cloud does not say.
	By Terminator
}

// Terminator says who has ended a machine.
type Terminator string

// The values of Terminator. Any other value means the same as the empty one.
const (
	// TerminatedBySpot means that the cloud has taken back a machine of spare capacity.
	TerminatedBySpot Terminator = "spot"
	// TerminatedByHealth means that the cloud has found the machine or its host broken.
	TerminatedByHealth Terminator = "health"
	// TerminatedByUser means that somebody with access to the account has asked for it,
	// or a program such as an autoscaler.
	TerminatedByUser Terminator = "user"
)
