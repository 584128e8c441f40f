package nodelifecycle

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// nodeIsNotOurs holds a Node that is probably not a machine of this cloud. It has
// no provider ID and does not wait to be initialised, although the Nodes of this
// cloud have provider IDs. The cloud does not know such a machine, so its answer
// "absent" is no evidence (promise S1 c).
func nodeIsNotOurs(o observed) *obstacle {
	if o.limits.Witnesses == 0 || !o.isAskedByName() || nodefact.IsUninitialized(o.node) || !o.hasProviderIDs() {
		return nil
	}
	return &obstacle{cause: isNotOurs()}
}

// hasProviderIDs reports whether this provider gives its Nodes provider IDs: it
// has confirmed one, or another Node has one. A Node that
// is not this daemon's may have its provider ID from anybody.
func (o observed) hasProviderIDs() bool {
	if len(o.peers.confirmed) > 0 {
		return true
	}
	for _, p := range o.peers.nodes {
		if p.node.Spec.ProviderID != "" && !o.disowns(p.node) {
			return true
		}
	}
	return false
}

// disowns reports whether a Node is not this daemon's.
func (o observed) disowns(node *corev1.Node) bool {
	_, disowned := o.claim.Disowns(node)
	return disowned
}

// leavesAlone reports whether no rule may touch a Node.
func (o observed) leavesAlone(node *corev1.Node) bool {
	_, alone := o.claim.LeavesAlone(node)
	return alone
}
