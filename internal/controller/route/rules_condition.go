package route

import (
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/message"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/showing"
)

// foreignAfter is the time for which the condition of another writer keeps pods away from
// a Node that has its routes, before an event reports it. A network plugin that starts
// sets the condition itself, and needs less time than that.
const foreignAfter = 5 * time.Minute

// unreachableAfter is the time for which a route has to be missing before a Node that
// had its routes counts as unreachable. It is long because the condition keeps pods away
// from the Node, and most failures are over sooner. A new Node also has this time to get
// its first route, unless a call fails.
const unreachableAfter = time.Minute

// conditionPatch is a condition to write to a Node.
type conditionPatch struct {
	node      *corev1.Node
	condition *corev1.NodeCondition
	// foreign means that another writer has written the condition. It is reported, and
	// nothing is written.
	foreign bool
}

// patched is the condition that was last written to a Node.
type patched struct {
	status corev1.ConditionStatus
	reason string
	at     time.Time
}

// isLike reports whether both patches write the same condition to the same Node.
func (p conditionPatch) isLike(other conditionPatch) bool {
	a, b := p.condition, other.condition
	return p.node.UID == other.node.UID && p.foreign == other.foreign && a.Status == b.Status && a.Reason == b.Reason
}

// planCondition adds the condition NetworkUnavailable of a Node to the plan, and the
// events about a missing route.
func (x *index) planCondition(node *corev1.Node, p *plan) {
	if node.DeletionTimestamp != nil || x.disowns(node) {
		return
	}
	status := x.statusOf(node)
	if status == "" {
		return
	}
	cause := routeCreated()
	if status == corev1.ConditionTrue {
		why, events := x.explain(node)
		cause, p.events = why, append(p.events, events...)
	}
	shown := nodefact.Condition(node, corev1.NodeNetworkUnavailable)
	isForeign := status == corev1.ConditionFalse && shown != nil && shown.Status == corev1.ConditionTrue && !isOurs(shown.Reason)
	switch {
	case isForeign && !x.mayAdopt(shown):
		x.planForeign(node, shown, p)
		return
	case !isForeign && !mustWrite(status, cause, shown):
		return
	}
	if next := x.memory.mayPatch(node.UID, status, cause.Reason); x.now.Before(next) {
		x.planAgain(next)
		return
	}
	p.patches = append(p.patches, conditionPatch{node: node, condition: networkUnavailable(status, cause).At(x.now, shown)})
}

// mayAdopt reports whether the daemon may write over the condition of another writer that
// keeps pods away from a Node that has its routes. An operator has to allow it.
func (x *index) mayAdopt(shown *corev1.NodeCondition) bool {
	after := x.limits.AdoptAfter
	if after == 0 {
		return false
	}
	at := shown.LastTransitionTime.Add(after)
	x.planAgain(at)
	return !x.now.Before(at)
}

// planForeign adds the event about the condition of another writer to the plan. A plugin
// that was removed never changes its condition.
func (x *index) planForeign(node *corev1.Node, shown *corev1.NodeCondition, p *plan) {
	reportAt, since := shown.LastTransitionTime.Add(foreignAfter), shown.LastTransitionTime.Time
	x.planAgain(reportAt)
	if known := x.memory.foreign[node.UID] == (foreignCondition{shown.Reason, since}); !known && !x.now.Before(reportAt) {
		p.patches = append(p.patches, conditionPatch{node: node, condition: shown, foreign: true})
	}
}

// foreignCondition identifies a condition of another writer.
type foreignCondition struct {
	reason string
	since  time.Time
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
// empty if the condition should stay as it is.
func (x *index) statusOf(node *corev1.Node) corev1.ConditionStatus {
	wanted := cidrsOf(node)
	if len(wanted) == 0 {
		// The listed routes can be those of an earlier Node with the same name. This
		// Node might get its own CIDRs soon, so it counts as unreachable only after a
		// while.
		if x.targets[node.Name] {
			return x.unavailableSince(node.CreationTimestamp.Time)
		}
		return ""
	}
	missing := slices.DeleteFunc(wanted, func(cidr netip.Prefix) bool {
		e := x.entries[cidr]
		return e.isSatisfied() && e.owner.UID == node.UID
	})
	if len(missing) == 0 {
		return corev1.ConditionFalse
	}
	since, failed := x.missingSince(node, missing)
	switch c := nodefact.Condition(node, corev1.NodeNetworkUnavailable); {
	case since.IsZero(), x.memory.listingFails() && c != nil && c.Status == corev1.ConditionFalse:
		return "" // It is not known that a route is missing.
	case failed && (c == nil || c.Status != corev1.ConditionFalse):
		return corev1.ConditionTrue
	default:
		return x.unavailableSince(since)
	}
}

// unavailableSince returns True if a route has been missing for unreachableAfter.
// Otherwise the table is planned again when unreachableAfter ends. The parameter since
// is the time at which the route was first missing.
func (x *index) unavailableSince(since time.Time) corev1.ConditionStatus {
	if until := since.Add(unreachableAfter); x.now.Before(until) {
		x.planAgain(until)
		return ""
	}
	return corev1.ConditionTrue
}

// missingSince returns the time since which one of the missing routes of the Node has
// been missing, and whether a failure is the cause. Without a failure, the route might
// only be late.
func (x *index) missingSince(node *corev1.Node, missing []netip.Prefix) (since time.Time, failed bool) {
	earliest := func(t time.Time) {
		if since.IsZero() || t.Before(since) {
			since = t
		}
	}
	for _, cidr := range missing {
		if f, ok := x.memory.failures[cidr]; ok && f.concerns(node) {
			failed = true
			earliest(f.since)
		} else if pending, ok := x.memory.pending[cidr]; ok {
			earliest(pending.since)
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
func mustWrite(status corev1.ConditionStatus, cause message.Cause, shown *corev1.NodeCondition) bool {
	return shown == nil || isOurs(shown.Reason) && (shown.Status != status || shown.Reason != cause.Reason)
}

// mayPatch returns the earliest time at which the condition may be written to the Node.
// If this process has already written the same condition, somebody else has changed it
// since (promise S4 b).
func (m *memory) mayPatch(node types.UID, status corev1.ConditionStatus, reason string) time.Time {
	last, ok := m.patched[node]
	if !ok || last.status != status || last.reason != reason {
		return time.Time{}
	}
	return last.at.Add(showing.PutBackAfter)
}

// networkUnavailable returns the condition that a Node should show.
func networkUnavailable(status corev1.ConditionStatus, cause message.Cause) showing.Condition {
	return showing.Condition{Type: corev1.NodeNetworkUnavailable, Status: status, Cause: cause}
}
