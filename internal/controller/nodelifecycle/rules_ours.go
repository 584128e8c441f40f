package nodelifecycle

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// nodeIsNotOurs holds a Node that is probably not a machine of this cloud. It has
// no provider ID and does not wait to be initialised, although the Nodes of this
// cloud have provider IDs. The cloud does not know such a machine, so its answer
// "absent" is no evidence (promise S1 c).
func nodeIsNotOurs(o observed) *obstacle {
	if o.limits.Witnesses == 0 || o.owner().Doubt != ownership.NeverInitialized {
		return nil
	}
	return &obstacle{cause: isNotOurs()}
}

// hasProviderIDs reports whether this provider gives its Nodes provider IDs: it
// has confirmed one, or another Node has one. A Node that is not this daemon's may
// have its provider ID from anybody.
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

// owner returns whose the Node is.
func (o observed) owner() ownership.Verdict {
	return o.claim.Owner(o.node, ownership.Known{Confirmed: o.peers.confirmed, HasIDs: o.hasProviderIDs()})
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
