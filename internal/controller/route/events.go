package route

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// note is what the owner of a Node is told.
type note struct {
	node *corev1.Node
	cidr netip.Prefix
	failure
}

// event is a message for whoever owns the object.
type event struct {
	kind, reason, message string
}

// createFailed is upstream's event (upstream-behaviour 5.2).
func createFailed(n note) event {
	return event{
		corev1.EventTypeWarning, "FailedToCreateRoute",
		fmt.Sprintf("Could not create route %s %s for node %s after %v: %s", n.node.UID, n.cidr, n.node.Name, n.took.Round(time.Millisecond), n.text),
	}
}

// deletionHeld is recorded on the Lease: a route that leads to no Node has no
// object of its own.
func deletionHeld(routes []held) event {
	first := routes[0]
	return event{
		corev1.EventTypeWarning, "RouteDeletionHeld",
		fmt.Sprintf("%d routes of the cloud lead to no Node of this cluster and are kept, among them %s: %s. "+
			"Check the cloud's answer, --cluster-name and --cluster-cidr.", len(routes), first.route.destination, first.why),
	}
}

// The condition's reasons and messages are upstream's (upstream-behaviour 5.3).
const (
	reasonCreated = "RouteCreated"
	reasonMissing = "NoRouteCreated"
)

func reasonFor(status corev1.ConditionStatus) string {
	if status == corev1.ConditionFalse {
		return reasonCreated
	}
	return reasonMissing
}

func messageFor(status corev1.ConditionStatus) string {
	if status == corev1.ConditionFalse {
		return "RouteController created a route"
	}
	return "RouteController failed to create a route"
}

func isOurs(reason string) bool { return reason == reasonCreated || reason == reasonMissing }

// longest is how much of an error the cloud's own words may take.
const longest = 600

// cut keeps an error short enough for an event, without our own words where
// there are others.
func cut(err error) string {
	text := err.Error()
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "") + "…"
}
