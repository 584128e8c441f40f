package explain

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/mark"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/volumefact"
)

// claim is a cause, with the state and the summary that follow from it.
type claim struct {
	cause   Cause
	state   State
	summary string
}

// Summaries that several rules share.
const (
	uninitialized = "It waits to be initialised. Until then no ordinary pod is scheduled to it."
	missing       = "Its kubelet is silent, and its deletion is held."
	unreachable   = "Its pods cannot be reached, because a route is missing."
	excluded      = "The daemon leaves it alone."
	notInLine     = "Its load balancer is not in line with it yet."
	cleanupHeld   = "It is being deleted, and waits for the controller of its load balancer class."
)

// conditionsThatWait has the conditions that say what an object waits for. The most
// important condition comes first.
var conditionsThatWait = []struct {
	kind    string
	waits   []metav1.ConditionStatus
	summary string
}{
	{string(mark.NodeInitialized), []metav1.ConditionStatus{metav1.ConditionFalse}, uninitialized},
	{string(mark.InstanceMissing), []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionUnknown}, missing},
	{string(corev1.NodeNetworkUnavailable), []metav1.ConditionStatus{metav1.ConditionTrue}, unreachable},
	{mark.ServiceCleanupHeld, []metav1.ConditionStatus{metav1.ConditionTrue}, cleanupHeld},
	{mark.ServiceProvisioning, []metav1.ConditionStatus{metav1.ConditionTrue}, notInLine},
	{mark.ServiceServing, []metav1.ConditionStatus{metav1.ConditionFalse}, "Its load balancer does not serve it."},
}

// eventsThatWait has events that say what an object waits for. The fields holds and over
// say when such an event no longer counts.
var eventsThatWait = []struct {
	reasons []string
	holds   func(metav1.Object) bool // if it returns false, the event does not count
	over    []string                 // after a newer event with one of these reasons, the event does not count
	state   State
	summary string
}{
	{[]string{"ForeignNode"}, aNodeThat(nodefact.IsUninitialized), []string{"Synced"}, LeftAlone, excluded},
	{[]string{"NodeExcluded"}, aNodeThat(isAny), []string{"Synced", "CloudInitFailed", "NodeDeletionHeld"}, LeftAlone, excluded},
	{[]string{"CloudInitFailed"}, aNodeThat(isUnexplained), []string{"Synced"}, Waits, uninitialized},
	{[]string{"NodeDeletionHeld"}, aNodeThat(isSilent), []string{"NodeDeletionCanceled", "NodeDeletionResumed"}, Waits, missing},
	{[]string{"CIDRNotAvailable", "CIDRAssignmentHeld", "CIDRAllocatorConflict", "CIDRAssignmentFailed"}, aNodeThat(hasNoCIDR), nil, Waits, "It waits for the CIDRs of its pods."},
	{
		[]string{"SyncLoadBalancerFailed", "UpdateLoadBalancerFailed", "LoadBalancerQueued", "LoadBalancerCleanupHeld", "UnAvailableLoadBalancer"},
		isServiceWithoutConditions,
		[]string{"EnsuredLoadBalancer", "UpdatedLoadBalancer", "DeletedLoadBalancer"},
		Waits, notInLine,
	},
	{
		[]string{"VolumeTopologyUnknown", "VolumeTopologyContradicted", "VolumeLabelsFailed"},
		isVolumeWithoutLabels, nil, Waits, "It waits for the labels of its zone and its region.",
	},
}

func aNodeThat(is func(*corev1.Node) bool) func(metav1.Object) bool {
	return func(o metav1.Object) bool { return is(o.(*corev1.Node)) }
}

func isAny(*corev1.Node) bool { return true }

// isUnexplained reports whether no condition says why the Node waits.
func isUnexplained(n *corev1.Node) bool {
	return nodefact.IsUninitialized(n) && nodefact.Condition(n, mark.NodeInitialized) == nil
}

func hasNoCIDR(n *corev1.Node) bool { return len(n.Spec.PodCIDRs) == 0 && n.Spec.PodCIDR == "" }

func isSilent(n *corev1.Node) bool {
	ready := nodefact.Condition(n, corev1.NodeReady)
	return ready != nil && ready.Status != corev1.ConditionTrue && nodefact.Condition(n, mark.InstanceMissing) == nil
}

// A failure lasts until a call succeeds. If a Service has conditions, they say more.
func isServiceWithoutConditions(o metav1.Object) bool {
	return len(o.(*corev1.Service).Status.Conditions) == 0
}

func isVolumeWithoutLabels(o metav1.Object) bool {
	return volumefact.LeftAlone(o.(*corev1.PersistentVolume)) == ""
}

// claims returns the claims that follow from the conditions and the events of an object.
func (all Reasons) claims(of metav1.Object, events []event) []claim {
	claims := all.claimsOfConditions(of)
	for _, known := range eventsThatWait {
		newest := slices.IndexFunc(events, func(e event) bool { return slices.Contains(known.reasons, e.Name) })
		if newest >= 0 && known.holds(of) && !events[newest].isOver(events, known.over...) {
			claims = append(claims, claim{cause: events[newest].cause, state: known.state, summary: known.summary})
		}
	}
	return claims
}

func (all Reasons) claimsOfConditions(of metav1.Object) (claims []claim) {
	on, shown := "Node", []metav1.Condition(nil)
	switch of := of.(type) {
	case *corev1.Node:
		for _, c := range of.Status.Conditions {
			shown = append(shown, metav1.Condition{Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime})
		}
	case *corev1.Service:
		on, shown = "Service", of.Status.Conditions
	}
	for _, known := range conditionsThatWait {
		c := meta.FindStatusCondition(shown, known.kind)
		if c == nil || !slices.Contains(known.waits, c.Status) {
			continue
		}
		if _, ours := all.find(on, c.Type, c.Reason); ours || on == "Service" { // Others write conditions of Nodes, too.
			claims = append(claims, claim{all.causeOf(on, *c), Waits, known.summary})
		}
	}
	return claims
}

// causeOf returns the cause that a condition shows.
func (all Reasons) causeOf(on string, c metav1.Condition) Cause {
	r, _ := all.find(on, c.Type, c.Reason)
	return Cause{
		Shown: fmt.Sprintf("condition %s=%s", c.Type, c.Status), Reason: c.Reason, Text: c.Message, Do: r.Do,
		Since: c.LastTransitionTime.Time,
	}
}
