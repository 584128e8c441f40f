package nodelifecycle

import (
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// nodeIsNotOurs holds a Node that is probably not a machine of this cloud. Such a Node
// has no provider ID and does not wait to be initialised, although other Nodes of this
// cloud have provider IDs. A cloud says "absent" about every machine that is not its
// own, so its answer proves nothing about this Node (promise S1 c).
func nodeIsNotOurs(o observed) *obstacle {
	if o.limits.Witnesses == 0 || o.owner().Doubt != ownership.NeverInitialized {
		return nil
	}
	return &obstacle{cause: isNotOurs()}
}

// hasProviderIDs reports whether this provider gives its Nodes provider IDs. This is so
// if it has confirmed a Node by provider ID, or if a Node of this daemon has a provider
// ID. Provider IDs of Nodes that this daemon does not own do not count, because anybody
// might have set them.
func (o observed) hasProviderIDs() bool { return len(o.peers.confirmed) > 0 || o.peers.hasIDs }

// owner returns the verdict about who owns the Node.
func (o observed) owner() ownership.Verdict {
	return o.claim.Owner(o.node, ownership.Known{Confirmed: o.peers.confirmed, HasIDs: o.hasProviderIDs()})
}
