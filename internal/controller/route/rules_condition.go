package route

import (
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
)

const (
	// unreachableAfter is the time for which a route has to be missing before a Node
	// that had its routes counts as unreachable. It is long because the condition keeps
	// pods away from the Node, and most failures are over sooner. A new Node also has
	// this time to get its first route, unless a call fails.
	unreachableAfter = time.Minute
	// rewriteAfter is the shortest time between two writes of a condition that
	// somebody else changes (promise S4).
	rewriteAfter = 5 * time.Minute
)

// conditionPatch is a condition to write to a Node.
type conditionPatch struct {
	node      *corev1.Node
	condition corev1.NodeCondition
}

// patched is the condition that was last written to a Node.
type patched struct {
	status corev1.ConditionStatus
	reason string
	at     time.Time
}

// view is the part of a plan that is about one Node.
type view struct {
	patch  *conditionPatch
	events []nodeEvent
	// until is the latest time at which the Node is planned again. It is zero if no
	// time is set.
	until time.Time
}

// planCondition plans the condition NetworkUnavailable of a Node, and the events
// about a missing route.
func (x *index) planCondition(node *corev1.Node) view {
	var v view
	if node.DeletionTimestamp != nil || x.disowns(node) {
		return v
	}
	status, until := x.statusOf(node, x.table.isTarget(node.Name))
	v.until = x.earliest(v.until, until)
	if status == "" {
		return v
	}
	cause := routeCreated()
	if status == corev1.ConditionTrue {
		cause, v.events = x.explain(node)
	}
	c := nodefact.Condition(node, corev1.NodeNetworkUnavailable)
	wanted := networkUnavailable(status, cause, x.now, c)
	if !mustWrite(wanted, c) {
		return v
	}
	if next := x.memory.mayPatch(node.UID, wanted); x.now.Before(next) {
		v.until = x.earliest(v.until, next)
		return v
	}
	v.patch = &conditionPatch{node, wanted}
	return v
}

// explain says why a Node lacks a route. It returns the cause, and the events with
// details.
func (x *index) explain(node *corev1.Node) (message.Cause, []nodeEvent) {
	cidrs := cidrsOf(node)
	for _, cidr := range cidrs {
		if why := x.whyRejected(node, cidr); why != nil {
			cause, event := cidrRejected(node, cidr, *why, x.clusters)
			return cause, []nodeEvent{event} // No listing changes a rejection, so a failed listing is not mentioned.
		}
	}
	if x.memory.listingFails() && len(cidrs) > 0 {
		f := x.memory.listingFailure
		f.took = x.now.Sub(f.since)
		return routeMissing(), []nodeEvent{createFailed(node, cidrs[0], f)}
	}
	return routeMissing(), nil
}

// whyRejected returns why the Node has no route for the CIDR, if others have to change
// something: the CIDR is rejected, or an older Node has it, too.
func (x *index) whyRejected(node *corev1.Node, cidr netip.Prefix) *rejection {
	switch e := x.entries[cidr]; {
	case e.rejection != nil && !e.serving:
		return e.rejection
	case e.owner.UID != node.UID:
		return &rejection{e.owner, cidr}
	default:
		return nil
	}
}

// statusOf returns the status of NetworkUnavailable that the Node should show. It is
// empty if the condition should stay as it is. The second result is the time to decide
// again, or zero if no time is set.
func (x *index) statusOf(node *corev1.Node, isTarget bool) (status corev1.ConditionStatus, until time.Time) { //nolint:revive // flag-parameter: it is a fact
	wanted := cidrsOf(node)
	if len(wanted) == 0 {
		// The listed routes can be those of an earlier Node with the same name. This
		// Node might get its own CIDRs soon, so it counts as unreachable only after a
		// while.
		if isTarget {
			return x.unavailableSince(node.CreationTimestamp.Time)
		}
		return "", time.Time{}
	}
	satisfied := func(cidr netip.Prefix) bool {
		e := x.entries[cidr]
		return e.isSatisfied() && e.owner.UID == node.UID
	}
	if !slices.ContainsFunc(wanted, func(cidr netip.Prefix) bool { return !satisfied(cidr) }) {
		return corev1.ConditionFalse, time.Time{}
	}
	since, failed := x.missingSince(node, wanted, satisfied)
	switch c := nodefact.Condition(node, corev1.NodeNetworkUnavailable); {
	case since.IsZero(), x.memory.listingFails() && c != nil && c.Status == corev1.ConditionFalse:
		return "", time.Time{} // It is not known that a route is missing.
	case failed && (c == nil || c.Status != corev1.ConditionFalse):
		return corev1.ConditionTrue, time.Time{}
	default:
		return x.unavailableSince(since)
	}
}

// unavailableSince returns True if a route has been missing for unreachableAfter.
// Otherwise it returns the time at which unreachableAfter ends. The parameter since is
// the time at which the route was first missing.
func (x *index) unavailableSince(since time.Time) (status corev1.ConditionStatus, until time.Time) {
	if until := since.Add(unreachableAfter); x.now.Before(until) {
		return "", until
	}
	return corev1.ConditionTrue, time.Time{}
}

// missingSince returns the time since which a route of the Node has been missing, and
// whether a failure is the cause. Without a failure, the route might only be late.
func (x *index) missingSince(node *corev1.Node, wanted []netip.Prefix, satisfied func(netip.Prefix) bool) (since time.Time, failed bool) {
	earliest := func(t time.Time) {
		if since.IsZero() || t.Before(since) {
			since = t
		}
	}
	for _, cidr := range wanted {
		if satisfied(cidr) {
			continue
		}
		if f, ok := x.memory.failures[cidr]; ok && f.concerns(node) {
			failed = true
			earliest(f.since)
		} else if at, pending := x.memory.pending[cidr]; pending {
			earliest(at)
		} else if owner := x.entries[cidr].owner; owner.UID != node.UID || x.entries[cidr].rejection != nil {
			failed = true
			earliest(node.CreationTimestamp.Time)
		}
	}
	if x.memory.listingFails() {
		failed = true
		earliest(x.memory.listingFailure.since)
	}
	return since, failed
}

// mustWrite reports whether a condition has to be written. A condition whose reason
// this controller never writes belongs to somebody else, and stays.
func mustWrite(wanted corev1.NodeCondition, current *corev1.NodeCondition) bool {
	return current == nil || isOurs(current.Reason) && (current.Status != wanted.Status || current.Reason != wanted.Reason)
}

// mayPatch returns the earliest time at which the condition may be written to the Node.
// If this process has already written the same condition, somebody else has changed it
// since. In this case, it is written at most once in rewriteAfter.
func (m *memory) mayPatch(node types.UID, c corev1.NodeCondition) time.Time {
	last, ok := m.patched[node]
	if !ok || last.status != c.Status || last.reason != c.Reason {
		return time.Time{}
	}
	return last.at.Add(rewriteAfter)
}

// wrote records in the memory that a condition was written.
func (m *memory) wrote(p conditionPatch, now time.Time) {
	m.touched.nodes[p.node.Name] = true
	m.patched[p.node.UID] = patched{p.condition.Status, p.condition.Reason, now}
}

// networkUnavailable returns the condition. Its transition time is kept while
// the status is the same.
func networkUnavailable(status corev1.ConditionStatus, cause message.Cause, now time.Time, current *corev1.NodeCondition) corev1.NodeCondition {
	c := corev1.NodeCondition{
		Type: corev1.NodeNetworkUnavailable, Status: status, Reason: cause.Reason, Message: cause.Message,
		LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now),
	}
	if current != nil && current.Status == status {
		c.LastTransitionTime = current.LastTransitionTime
	}
	return c
}
