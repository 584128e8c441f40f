package nodelifecycle

import (
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// nodeIsNotOurs holds a Node that is probably not a machine of this cloud. The Node has
// no provider ID and does not wait to be initialised, although other Nodes of this
// cloud have provider IDs. A cloud does not know machines of others, so the answer
// "absent" is no evidence about them (promise S1 c).
func nodeIsNotOurs(o observed) *obstacle {
	if o.limits.Witnesses == 0 || o.owner().Doubt != ownership.NeverInitialized {
		return nil
	}
	return &obstacle{cause: isNotOurs()}
}

// hasProviderIDs reports whether this provider gives its Nodes provider IDs. That is so
// if it has confirmed a Node by its provider ID, or if a Node of this daemon has one.
// Provider IDs of Nodes that this daemon does not own do not count, because anybody
// might have set them.
func (o observed) hasProviderIDs() bool { return len(o.peers.confirmed) > 0 || o.peers.hasIDs }

// owner returns the verdict about who owns the Node.
func (o observed) owner() ownership.Verdict {
	return o.claim.Owner(o.node, ownership.Known{Confirmed: o.peers.confirmed, HasIDs: o.hasProviderIDs()})
}
