package nodelifecycle

import (
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// nodeIsNotOurs holds a Node that is probably not a machine of this cloud. It has
// no provider ID and does not wait to be initialised, although the Nodes of this
// cloud have provider IDs. The cloud does not know such a machine, so its answer
// "absent" is not evidence (promise S1 c).
func nodeIsNotOurs(o observed) *obstacle {
	if o.limits.Witnesses == 0 || o.owner().Doubt != ownership.NeverInitialized {
		return nil
	}
	return &obstacle{cause: isNotOurs()}
}

// hasProviderIDs reports whether this provider gives its Nodes provider IDs: it
// has confirmed one, or another Node has one. A Node that is not this daemon's may
// have its provider ID from anybody.
func (o observed) hasProviderIDs() bool { return len(o.peers.confirmed) > 0 || o.peers.hasIDs }

// owner returns whose the Node is.
func (o observed) owner() ownership.Verdict {
	return o.claim.Owner(o.node, ownership.Known{Confirmed: o.peers.confirmed, HasIDs: o.hasProviderIDs()})
}
