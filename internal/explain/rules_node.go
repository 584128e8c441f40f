package explain

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cluster"
	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

// claim is a cause, with the state and the summary that follow from it.
type claim struct {
	cause   Cause
	state   State
	summary string
}

// rank is 0 for the claim that a Node is not initialised, and 1 for every other claim.
// Initialisation comes first, because until then no pod uses the Node's routes.
func (c claim) rank() int {
	if c.summary == uninitialized {
		return 0
	}
	return 1
}

// The summaries of answers about Nodes.
const (
	uninitialized = "It waits to be initialised. Until then no ordinary pod is scheduled to it."
	missing       = "Its kubelet is silent, and its deletion is held."
	unreachable   = "Its pods cannot be reached, because a route is missing."
	withoutCIDR   = "It waits for the CIDRs of its pods."
	excluded      = "The daemon leaves it alone."
)

// conditionsOfNode has the conditions that say what a Node waits for. The most important
// condition comes first.
var conditionsOfNode = []struct {
	kind    corev1.NodeConditionType
	waits   []corev1.ConditionStatus
	summary string
}{
	{mark.NodeInitialized, []corev1.ConditionStatus{corev1.ConditionFalse}, uninitialized},
	{mark.InstanceMissing, []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionUnknown}, missing},
	{corev1.NodeNetworkUnavailable, []corev1.ConditionStatus{corev1.ConditionTrue}, unreachable},
}

// eventsOfNode has events that say what a Node waits for. The fields holds and over say
// when such an event no longer counts.
var eventsOfNode = []struct {
	reasons []string
	holds   func(n *corev1.Node) bool // if it returns false, the event does not count
	over    []string                  // after a newer event with one of these reasons, the event does not count
	state   State
	summary string
}{
	{[]string{"ForeignNode"}, nodefact.IsUninitialized, []string{"Synced"}, LeftAlone, excluded},
	{[]string{"NodeExcluded"}, func(*corev1.Node) bool { return true }, []string{"Synced", "CloudInitFailed", "NodeDeletionHeld"}, LeftAlone, excluded},
	{[]string{"CloudInitFailed"}, nodefact.IsUninitialized, []string{"Synced"}, Waits, uninitialized},
	{[]string{"NodeDeletionHeld"}, isSilent, []string{"NodeDeletionCanceled", "NodeDeletionResumed"}, Waits, missing},
	{[]string{"CIDRNotAvailable", "CIDRAssignmentHeld", "CIDRAllocatorConflict", "CIDRAssignmentFailed"}, hasNoCIDR, nil, Waits, withoutCIDR},
}

func hasNoCIDR(n *corev1.Node) bool { return len(n.Spec.PodCIDRs) == 0 && n.Spec.PodCIDR == "" }

func isSilent(n *corev1.Node) bool {
	ready := nodefact.Condition(n, corev1.NodeReady)
	return ready != nil && ready.Status != corev1.ConditionTrue && nodefact.Condition(n, mark.InstanceMissing) == nil
}

// node explains a Node.
func (all Reasons) node(s subject) Answer {
	n := s.of.(*corev1.Node)
	events := all.recorded("Node", s.events)
	claims := append(all.conditions(n), claimsOfEvents(n, events)...)
	slices.SortStableFunc(claims, func(a, b claim) int { // In the first minute of a Node, only an event says that it is not initialised.
		return cmp.Compare(a.rank(), b.rank())
	})
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

// conditions returns the claims that follow from the conditions of the Node.
func (all Reasons) conditions(n *corev1.Node) []claim {
	var claims []claim
	for _, known := range conditionsOfNode {
		c := nodefact.Condition(n, known.kind)
		if c == nil || !slices.Contains(known.waits, c.Status) {
			continue
		}
		r, ok := all.find("Node", string(known.kind), c.Reason)
		if !ok { // Others may write NetworkUnavailable, too.
			continue
		}
		claims = append(claims, claim{
			cause: Cause{
				Shown: fmt.Sprintf("condition %s=%s", c.Type, c.Status), Reason: c.Reason, Text: c.Message, Do: r.Do,
				Since: c.LastTransitionTime.Time,
			},
			state: Waits, summary: known.summary,
		})
	}
	return claims
}

// claimsOfEvents returns the claims that follow from the events of the Node. If the
// Node has the condition about its initialisation, it leaves out events about that.
func claimsOfEvents(n *corev1.Node, events []event) []claim {
	var claims []claim
	for _, known := range eventsOfNode {
		newest := slices.IndexFunc(events, func(e event) bool { return slices.Contains(known.reasons, e.Name) })
		if newest < 0 || !known.holds(n) || events[newest].isOver(events, known.over...) {
			continue
		}
		if known.summary == uninitialized && nodefact.Condition(n, mark.NodeInitialized) != nil {
			continue
		}
		claims = append(claims, claim{cause: events[newest].cause, state: known.state, summary: known.summary})
	}
	return claims
}
