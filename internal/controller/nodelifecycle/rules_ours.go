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
// has confirmed a Node by its provider ID, or a Node of this daemon has one. Other
// Nodes do not count, because anybody may have given them their provider IDs.
func (o observed) hasProviderIDs() bool { return len(o.peers.confirmed) > 0 || o.peers.hasIDs }

// owner returns who owns the Node.
func (o observed) owner() ownership.Verdict {
	return o.claim.Owner(o.node, ownership.Known{Confirmed: o.peers.confirmed, HasIDs: o.hasProviderIDs()})
}
