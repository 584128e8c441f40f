package route

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
)

// Reasons of events and conditions. Upstream has the same ones (upstream-behaviour 5.2
// and 5.3), except reasonDeletionHeld,
// reasonUnwritten and reasonForeign.
var (
	reasonCreateFailed = message.Reason{
		Name: "FailedToCreateRoute", On: "Node", Type: corev1.EventTypeWarning,
		When: "A route for one of the Node's pod CIDRs could not be created, or the cloud does not list its routes. Recorded once for each kind of failure, and again after 30 minutes.",
		Do:   "Read the cloud's error in the message. The creation is tried again with growing pauses, up to one minute.",
	}
	reasonDeletionHeld = message.Reason{
		Name: "RouteDeletionHeld", On: "Lease", Type: corev1.EventTypeWarning,
		When: "More routes are stray (lead to no Node or nowhere, or are duplicates) than --route-deletion-budget-routes and --route-deletion-budget-percent allow. They are kept for --route-deletion-over-budget-after.",
		Do:   "Check the routes in the cloud, --cluster-name and --cluster-cidr. If the routes are needed, set --configure-cloud-routes=false before they are deleted.",
	}
	reasonUnwritten = message.Reason{
		Name: "NetworkConditionFailed", On: "Node", Type: corev1.EventTypeWarning,
		When: "The condition NetworkUnavailable of the Node could not be written. The write is retried. The event is recorded once, not after each attempt.",
		Do:   "Check the RBAC rules of the cloud-controller-manager and the admission webhooks.",
	}
	reasonForeign = message.Reason{
		Name: "NetworkConditionForeign", On: "Node", Type: corev1.EventTypeWarning,
		When: "The Node has its routes, but for 5 minutes another writer's condition NetworkUnavailable has kept pods away from it. The message names the reason of the condition and its writer, which may be a network plugin that was removed. The condition stays. The event is recorded once.",
		Do:   "If a network plugin has written it that still runs, look at this plugin. If the plugin was removed, set the condition to False with the reason RouteCreated, or set --route-adopt-conditions-after.",
	}
	reasonCreated = message.Reason{
		Name: "RouteCreated", On: "Node", Condition: string(corev1.NodeNetworkUnavailable),
		When: "All routes of the Node exist (status False).",
	}
	reasonMissing = message.Reason{
		Name: "NoRouteCreated", On: "Node", Condition: string(corev1.NodeNetworkUnavailable),
		When: "A route of the Node is missing (status True). A Node that had its routes shows this only after a route has been missing for a minute.",
		Do:   "Read the event FailedToCreateRoute of the Node.",
	}
)

// If a CIDR of a Node gets no route, the event and the condition of the Node have the
// same reason. The Node with which it overlaps has an event, too.
var (
	reasonRejected = message.Reason{
		Name: "PodCIDRRejected", On: "Node", Type: corev1.EventTypeWarning,
		When: "A pod CIDR of the Node does not lie inside --cluster-cidr, is as wide as --cluster-cidr, or overlaps with another Node's CIDR. No route is created for it, and a route that it has is removed if it overlaps.",
		Do:   "Correct --cluster-cidr, or replace the Node by a Node that has another CIDR. To create routes outside --cluster-cidr as upstream does, set --route-creation-outside-cluster-cidr.",
	}
	reasonOverlap = message.Reason{
		Name: "PodCIDROverlaps", On: "Node", Type: corev1.EventTypeWarning,
		When: "Another Node claims a CIDR that overlaps with one of this Node's. This Node keeps its route.",
		Do:   "Find out who gave the other Node its CIDR. If nobody did, the other Node's kubelet may be hostile. Replace that Node.",
	}
	reasonRejectedShown = message.Reason{
		Name: "PodCIDRRejected", On: "Node", Condition: string(corev1.NodeNetworkUnavailable),
		When: "A pod CIDR of the Node has no route, because it does not lie inside --cluster-cidr, is as wide as --cluster-cidr, or overlaps with another Node's CIDR (status True).",
		Do:   reasonRejected.Do,
	}
)

// Reasons returns the reasons of all events and conditions of this controller.
func Reasons() []message.Reason {
	return []message.Reason{reasonCreateFailed, reasonDeletionHeld, reasonUnwritten, reasonForeign, reasonCreated, reasonMissing, reasonRejected, reasonOverlap, reasonRejectedShown}
}

// nodeEvent is an event on a Node, about one of its CIDRs or about its condition.
type nodeEvent struct {
	node *corev1.Node
	cidr netip.Prefix // the zero value if the event is about the condition
	// kind is the kind of the failure. The event is recorded once for each kind of
	// failure.
	kind  string
	event message.Event
	// other, if not nil, is the Node with which the CIDR overlaps. It gets the event
	// overlap at the same time.
	other   *corev1.Node
	overlap message.Event
}

func createFailed(node *corev1.Node, cidr netip.Prefix, f failure) nodeEvent {
	text := fmt.Sprintf("Could not create route %s %s for node %s after %v: %s", node.UID, cidr, node.Name, f.took.Round(time.Millisecond), f.text)
	return nodeEvent{node: node, cidr: cidr, kind: f.kind, event: reasonCreateFailed.Event(text)}
}

// conditionFailed returns the event about a condition that could not be written. The
// event belongs to no CIDR, because the condition is about all CIDRs of the Node.
func conditionFailed(patch conditionPatch, err error) nodeEvent {
	return nodeEvent{node: patch.node, kind: kindUnwritten, event: reasonUnwritten.Event(fmt.Sprintf(
		"The condition NetworkUnavailable of this Node could not be set to %s. Check the cloud-controller-manager's RBAC rules and admission webhooks. "+
			"The write is retried. (%s)", patch.condition.Status, message.Cut(err)))}
}

// foreign returns the event about a condition of another writer.
func foreign(c corev1.NodeCondition, manager string) message.Event {
	by := "an unknown client"
	if manager != "" {
		by = message.Value(manager)
	}
	return reasonForeign.Event(fmt.Sprintf("This Node has its routes, but the condition NetworkUnavailable keeps pods away from it. It was written by %s, with the reason %s, and has been True since %s. "+
		"If that is a network plugin that was removed, set the condition to False with the reason %s, or set --route-adopt-conditions-after.",
		by, message.Value(c.Reason), c.LastTransitionTime.UTC().Format(time.RFC3339), reasonCreated.Name))
}

// deletionHeld returns the event about stray routes that the budget keeps. The event is
// for the Lease, because a stray route has no object of its own.
func deletionHeld(routes []held) message.Event {
	first := routes[0]
	return reasonDeletionHeld.Event(fmt.Sprintf("%d stray routes are kept, among them %s (%s): %s. "+
		"The cloud's answer may be wrong. Check the routes in the cloud, --cluster-name and --cluster-cidr.",
		len(routes), message.Value(first.route.destination), first.why, first.until))
}

// routeCreated returns the cause for a Node that has all its routes.
func routeCreated() message.Cause { return reasonCreated.Cause("RouteController created a route") }

// routeMissing returns the cause for a Node that lacks one of its routes.
func routeMissing() message.Cause {
	return reasonMissing.Cause("RouteController failed to create a route")
}

// text returns the message about the rejection of a CIDR.
func (r rejection) text(cidr netip.Prefix, clusters []netip.Prefix) string {
	if r.holder != nil {
		return fmt.Sprintf("No route is kept for %s, because it overlaps with %s, which Node %s has. "+
			"The route would take the traffic of that Node's pods. Give this Node another CIDR.", cidr, r.held, r.holder.Name)
	}
	var all []string
	for _, c := range clusters {
		all = append(all, c.String())
	}
	return fmt.Sprintf("No route is created for %s, because it is not a part of --cluster-cidr=%s. "+
		"Correct --cluster-cidr, or give the Node another CIDR. --route-creation-outside-cluster-cidr allows the route.", cidr, strings.Join(all, ","))
}

// cidrRejected returns the cause and the event for a Node with a CIDR that gets no
// route. The other Node that has the CIDR, or a part of it, gets an event, too.
func cidrRejected(node *corev1.Node, cidr netip.Prefix, why rejection, clusters []netip.Prefix) (message.Cause, nodeEvent) {
	text := why.text(cidr, clusters)
	e := nodeEvent{node: node, cidr: cidr, kind: kindRejected, event: reasonRejected.Event(text), other: why.holder}
	if e.other != nil {
		e.overlap = reasonOverlap.Event(fmt.Sprintf("Node %s claims %s, which overlaps with this Node's CIDR %s. Node %[1]s gets no route for it. "+
			"If nobody has given it this CIDR, its kubelet may be hostile.", node.Name, cidr, why.held))
	}
	return reasonRejectedShown.Cause(text), e
}

// isOurs reports whether this controller writes conditions with this reason.
func isOurs(reason string) bool {
	return reason == reasonCreated.Name || reason == reasonMissing.Name || reason == reasonRejectedShown.Name
}
