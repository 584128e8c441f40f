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
	// unreachableAfter is how long a route has to be missing before a Node that
	// had its routes counts as unreachable. The condition keeps pods away from
	// the Node, and most failures are over sooner. A new Node has as much time
	// for its first route.
	unreachableAfter = time.Minute
	// rewriteAfter is the shortest time between two writes of a condition that
	// somebody else changes (promise S4).
	rewriteAfter = 5 * time.Minute
)

// conditionPatch is the condition that a Node is to show.
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

// planConditions plans the condition NetworkUnavailable of all Nodes, and the
// events of those that have no route because the routes cannot be listed.
func (x *index) planConditions(p *plan) {
	targets := map[string]bool{}
	for _, r := range x.memory.listing.routes {
		targets[r.target] = true
	}
	for _, node := range x.nodes {
		if node.DeletionTimestamp != nil || x.disowns(node) {
			continue
		}
		status, after := x.statusOf(node, targets[node.Name])
		p.noLaterThan(after)
		if status == "" {
			continue
		}
		cause := routeCreated()
		if status == corev1.ConditionTrue {
			cause = x.explain(p, node)
		}
		c := nodefact.Condition(node, corev1.NodeNetworkUnavailable)
		if wanted := networkUnavailable(status, cause, x.now, c); x.mustWrite(node, wanted, c) {
			p.patches = append(p.patches, conditionPatch{node, wanted})
		}
	}
}

// explain returns why a Node lacks a route, and plans the events that say more.
func (x *index) explain(p *plan, node *corev1.Node) message.Cause {
	cidrs := cidrsOf(node)
	for _, cidr := range cidrs {
		if why := x.rejection(cidr); why != nil && !x.entries[cidr].serving {
			cause, event := cidrRejected(node, cidr, why.text(cidr, x.clusters))
			p.events = append(p.events, event)
			return cause // No listing changes that, so a failed one is not said.
		}
	}
	if x.memory.listingFails() && len(cidrs) > 0 {
		f := x.memory.listingFailure
		f.took = x.now.Sub(f.since)
		p.events = append(p.events, createFailed(node, cidrs[0], f))
	}
	return routeMissing()
}

// statusOf returns the status of NetworkUnavailable that the Node should show.
// It is empty if the condition should stay as it is. after is when to decide
// again, 0 if nothing is awaited.
func (x *index) statusOf(node *corev1.Node, isTarget bool) (status corev1.ConditionStatus, after time.Duration) { //nolint:revive // flag-parameter: it is a fact
	wanted := cidrsOf(node)
	if len(wanted) == 0 {
		// The routes may be those of an earlier Node of that name, and this
		// Node may get its own CIDRs soon.
		if isTarget {
			return x.unavailableSince(node.CreationTimestamp.Time)
		}
		return "", 0
	}
	satisfied := func(cidr netip.Prefix) bool {
		e := x.entries[cidr]
		return e.isSatisfied() && e.owner.UID == node.UID
	}
	if !slices.ContainsFunc(wanted, func(cidr netip.Prefix) bool { return !satisfied(cidr) }) {
		return corev1.ConditionFalse, 0
	}
	since, failed := x.missingSince(node, wanted, satisfied)
	switch c := nodefact.Condition(node, corev1.NodeNetworkUnavailable); {
	case since.IsZero(), x.memory.listingFails() && c != nil && c.Status == corev1.ConditionFalse:
		return "", 0 // Nothing shows that a route is missing, and unknown is not absent.
	case failed && (c == nil || c.Status != corev1.ConditionFalse):
		return corev1.ConditionTrue, 0
	default:
		return x.unavailableSince(since)
	}
}

// unavailableSince returns True if a route has been missing since then for
// unreachableAfter. Otherwise it returns the time that is left.
func (x *index) unavailableSince(since time.Time) (status corev1.ConditionStatus, after time.Duration) {
	if left := since.Add(unreachableAfter).Sub(x.now); left > 0 {
		return "", left
	}
	return corev1.ConditionTrue, 0
}

// missingSince returns since when a route of the Node is missing, and whether a
// failure is the cause. Without a failure, the route may only be late.
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
		} else if owner := x.entries[cidr].owner; owner.UID != node.UID || x.rejection(cidr) != nil {
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

// mustWrite reports whether a condition has to be written. A condition with a
// reason that is not upstream's belongs to somebody else and stays. A condition
// of ours that somebody else has changed is written again, at most once in
// rewriteAfter.
func (x *index) mustWrite(node *corev1.Node, wanted corev1.NodeCondition, current *corev1.NodeCondition) bool {
	if current != nil && (!isOurs(current.Reason) || current.Status == wanted.Status && current.Reason == wanted.Reason) {
		return false
	}
	return !x.memory.wasPatched(node.UID, wanted, x.now)
}

// wasPatched reports whether this process has written the condition to the Node
// within rewriteAfter.
func (m *memory) wasPatched(node types.UID, c corev1.NodeCondition, now time.Time) bool {
	last, ok := m.patched[node]
	return ok && last.status == c.Status && last.reason == c.Reason && now.Sub(last.at) < rewriteAfter
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
