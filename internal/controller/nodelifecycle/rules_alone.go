package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// aloneFor is the time for which a Node has to be absent if no other Node of its region
// can be a witness.
const aloneFor = 10 * time.Minute

// trustsElsewhere reports whether witnesses of other regions are enough for this Node.
// They say nothing about the cloud's view of the Node's own region. So the removal has to
// be announced. Or the provider has confirmed this very Node before, the Node has been
// absent for aloneFor, and it is within the budget: if many Nodes of a region are silent
// and absent together, the region is probably down, and its list is empty.
func (o observed) trustsElsewhere() bool {
	return o.limits.isAnnounced(o.node) || o.mayTrustLater() && !o.now.Before(o.aloneUntil())
}

// candidates returns the facts about the Nodes that can be witnesses. Nodes of other
// regions cannot, unless trustsElsewhere allows it.
func (o observed) candidates() candidates {
	if o.peers.elsewhere && !o.trustsElsewhere() {
		return candidates{}
	}
	return o.peers.candidates
}

// mayTrustLater reports whether trustsElsewhere can become true merely because time
// passes.
func (o observed) mayTrustLater() bool {
	a := o.peers.absentees
	return o.peers.elsewhere && o.peers.isKnown && a.absent <= o.limits.Budget.of(a.nodes)
}

func (o observed) aloneUntil() time.Time { return o.memory.evidence.since.Add(aloneFor) }

// alone returns the plan for a Node for which no other Node can be a witness. The Node
// is deleted if the provider has confirmed Nodes like it (see isConfirmed) and the limit
// WithoutWitnessAfter has passed. It is also deleted after aloneFor if the whole cluster
// is being scaled to zero.
func alone(o observed) plan {
	until := o.memory.evidence.since.Add(o.limits.WithoutWitnessAfter)
	if o.limits.WithoutWitnessAfter == 0 || !o.isConfirmed() {
		until = time.Time{}
	}
	isLeaving := o.clusterIsLeaving()
	if later := o.aloneUntil(); (isLeaving || o.mayTrustLater()) && (until.IsZero() || later.Before(until)) {
		until = later
	}
	switch {
	case until.IsZero():
		return heldInCheck(o, obstacle{cause: noNodeLeft()})
	case o.now.Before(until):
		return heldInCheck(o, obstacle{cause: noNodeLeft(), until: until})
	case isLeaving:
		return removing(o, "the cloud says that the instance does not exist, and the removal of each Node is announced")
	default:
		return removing(o, "the cloud says that the instance does not exist, and there is no other Node to ask the cloud about")
	}
}

// clusterIsLeaving reports whether taints announce the removal of this Node and of all
// others, and all kubelets are silent. A kubelet cannot write such a taint. While a
// single other Node is left, the control plane may be cut off.
func (o observed) clusterIsLeaving() bool {
	return nodefact.IsAnnounced(o.node) && o.peers.allLeave
}

// isMarked reports whether a label that no kubelet can write says that this manager has
// written the provider ID of the Node.
func isMarked(node *corev1.Node) bool {
	id := node.Spec.ProviderID
	return id != "" && node.Labels[nodefact.LabelIdentity] == nodefact.Identity(node.UID, id)
}
