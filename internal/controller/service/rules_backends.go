package service

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// BackendPolicy says which Nodes are behind load balancers (KEP-3458 and
// upstream-behaviour 6.6).
type BackendPolicy struct {
	// SkipUninitialized excludes Nodes that wait for their initialisation. It is set
	// if this daemon initialises Nodes.
	SkipUninitialized bool
	// If WakeOnTaint is true, a new set is made when a Node gets or loses the
	// autoscaler's taint. If WakeOnDeletion is true, a new set is made when a Node
	// begins to be deleted. If a field is false, such a change has no effect until a
	// change of another kind makes a new set, as in upstream.
	WakeOnTaint, WakeOnDeletion bool
	// Claim says which Nodes belong to this daemon. If OwnOnly is set, only these
	// Nodes are behind load balancers.
	Claim   ownership.Claim
	OwnOnly bool
}

// isBackend reports whether a Node belongs behind load balancers. It does not matter
// whether the Node is ready: the cloud's health checks show that more reliably, and a
// failure of the control plane must not remove the backends.
func (b BackendPolicy) isBackend(node *corev1.Node) bool {
	switch {
	case node.DeletionTimestamp != nil, isExcluded(node), nodefact.HasTaint(node, nodefact.TaintToBeDeleted):
		return false
	case b.isDisowned(node):
		return false
	default:
		return !b.SkipUninitialized || !nodefact.IsUninitialized(node)
	}
}

// isDisowned reports whether the Node is not a backend because it does not belong to
// this daemon.
func (b BackendPolicy) isDisowned(node *corev1.Node) bool {
	_, disowned := b.Claim.Disowns(node)
	return b.OwnOnly && disowned
}

// isLeaving reports whether the Node's deletion, the autoscaler's taint or a missing
// initialisation keeps the Node from being a backend. A kubelet cannot switch these
// three on and off. It can do so with the label that excludes its Node, so this label
// does not count here.
func (b BackendPolicy) isLeaving(node *corev1.Node) bool {
	return node.DeletionTimestamp != nil || nodefact.HasTaint(node, nodefact.TaintToBeDeleted) || b.SkipUninitialized && nodefact.IsUninitialized(node)
}

func isExcluded(node *corev1.Node) bool {
	return nodefact.HasLabel(node, corev1.LabelNodeExcludeBalancers)
}
