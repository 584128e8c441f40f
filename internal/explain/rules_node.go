package explain

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// rank is 0 for the claim that a Node is not initialised, and 1 for every other claim.
// Initialisation comes first, because until then no pod uses the Node's routes. In the
// first minute of a Node, only an event makes this claim.
func (c claim) rank() int {
	if c.summary == uninitialized {
		return 0
	}
	return 1
}

// node explains a Node.
func (all Reasons) node(s subject) Answer {
	n := s.of.(*corev1.Node)
	events := all.recorded("Node", s.events)
	claims := all.claims(n, events)
	slices.SortStableFunc(claims, func(a, b claim) int { return cmp.Compare(a.rank(), b.rank()) })
	a := s.answer(all, claims, events)
	switch {
	case n.DeletionTimestamp != nil:
		a.State, a.Summary = Deleting, "It is being deleted."
		a.Since = &n.DeletionTimestamp.Time
	case len(claims) > 0:
		if a.Summary == uninitialized { // The wait for initialisation begins with the creation of the Node.
			a.Since = &n.CreationTimestamp.Time
		}
	case nodefact.IsUninitialized(n):
		a.State, a.Summary, a.Since = Unknown, uninitialized+" No daemon has said why.", &n.CreationTimestamp.Time
	case cluster.LeftAloneBy(n) != "":
		a.State, a.Summary = LeftAlone, fmt.Sprintf("It has the label %s, so daemons leave it alone.", cluster.LeftAloneBy(n))
	case n.Spec.ProviderID == "":
		a.State, a.Summary = LeftAlone, "It has neither the taint of a Node that waits to be initialised nor a provider ID, so no cloud-controller-manager was asked to initialise it. Its kubelet needs --cloud-provider=external."
	default:
		a.State, a.Summary = Ready, fmt.Sprintf("It is initialised, with the provider ID %s.", n.Spec.ProviderID)
	}
	return a
}
