package route

import (
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// patience is how long a Node that has had its routes still counts as
	// reachable: most failures are over sooner, and the condition keeps pods
	// away from the Node. It is also how long a first attempt may take.
	patience = time.Minute
	// repairPause is how often a condition is put back that somebody else has
	// changed (S4).
	repairPause = 5 * time.Minute
)

// verdict is the condition that a Node is to show.
type verdict struct {
	node      *corev1.Node
	condition corev1.NodeCondition
}

// shown is what a Node was last made to show.
type shown struct {
	status corev1.ConditionStatus
	at     time.Time
}

// show decides upon the condition NetworkUnavailable of all Nodes, and upon what
// their owners are told while the routes are not known.
func (s *survey) show(p *plan) {
	targets := map[string]bool{}
	for _, r := range s.listing.routes {
		targets[r.target] = true
	}
	for _, node := range s.nodes {
		if node.DeletionTimestamp != nil || isExcluded(node) {
			continue
		}
		status, after := s.statusOf(node, targets[node.Name])
		p.sooner(after)
		if status == "" {
			continue
		}
		if cidrs := cidrsOf(node); s.isBlind() && status == corev1.ConditionTrue && len(cidrs) > 0 {
			blind := s.memory.blind
			blind.took = s.now.Sub(blind.since)
			p.notes = append(p.notes, note{node: node, cidr: cidrs[0], failure: blind})
		}
		if c := conditionOf(node, corev1.NodeNetworkUnavailable); s.isNews(node, status, c) {
			p.verdicts = append(p.verdicts, verdict{node, networkUnavailable(status, s.now, c)})
		}
	}
}

// statusOf is whether the Node's network is unavailable, empty while it cannot
// be said; after is when it can.
func (s *survey) statusOf(node *corev1.Node, isTarget bool) (status corev1.ConditionStatus, after time.Duration) { //nolint:revive // flag-parameter: it is a fact
	wanted := cidrsOf(node)
	if len(wanted) == 0 {
		// Routes of an earlier Node of that name, perhaps: it gets its own CIDRs soon.
		if isTarget {
			return s.bad(node.CreationTimestamp.Time)
		}
		return "", 0
	}
	satisfied := func(cidr netip.Prefix) bool {
		e := s.entries[cidr]
		return e.isSatisfied() && e.owner.UID == node.UID
	}
	if !slices.ContainsFunc(wanted, func(cidr netip.Prefix) bool { return !satisfied(cidr) }) {
		return corev1.ConditionFalse, 0
	}
	since, failed := s.troubleOf(node, wanted, satisfied)
	switch c := conditionOf(node, corev1.NodeNetworkUnavailable); {
	case since.IsZero(), s.isBlind() && c != nil && c.Status == corev1.ConditionFalse:
		return "", 0 // Unknown is not absent.
	case failed && (c == nil || c.Status != corev1.ConditionFalse):
		return corev1.ConditionTrue, 0
	default:
		return s.bad(since)
	}
}

// bad is True once it has lasted long enough.
func (s *survey) bad(since time.Time) (status corev1.ConditionStatus, after time.Duration) {
	if left := since.Add(patience).Sub(s.now); left > 0 {
		return "", left
	}
	return corev1.ConditionTrue, 0
}

// troubleOf is since when a route of the Node is missing, and whether an attempt
// has failed.
func (s *survey) troubleOf(node *corev1.Node, wanted []netip.Prefix, satisfied func(netip.Prefix) bool) (since time.Time, failed bool) {
	earliest := func(t time.Time) {
		if since.IsZero() || t.Before(since) {
			since = t
		}
	}
	for _, cidr := range wanted {
		if satisfied(cidr) {
			continue
		}
		if f, ok := s.memory.failures[cidr]; ok && f.isOf(node) {
			failed = true
			earliest(f.since)
		} else if at, busy := s.memory.busy[cidr]; busy {
			earliest(at)
		} else if owner := s.entries[cidr].owner; owner.UID != node.UID {
			failed = true
			earliest(node.CreationTimestamp.Time)
		}
	}
	if s.isBlind() {
		failed = true
		earliest(s.memory.blind.since)
	}
	return since, failed
}

// isNews tells whether a condition has to be written. What somebody else says
// of the network under a reason of its own is left alone, and so is for a while
// what somebody has made of ours.
func (s *survey) isNews(node *corev1.Node, status corev1.ConditionStatus, current *corev1.NodeCondition) bool {
	if current != nil && (!isOurs(current.Reason) || current.Status == status && current.Reason == reasonFor(status)) {
		return false
	}
	return !s.memory.shows(node.UID, status, s.now)
}

// shows tells whether the Node has been made to show this not long ago.
func (m *memory) shows(node types.UID, status corev1.ConditionStatus, now time.Time) bool {
	last, ok := m.shown[node]
	return ok && last.status == status && now.Sub(last.at) < repairPause
}

// networkUnavailable is the condition in upstream's words. Its transition time
// is kept while the status is the same.
func networkUnavailable(status corev1.ConditionStatus, now time.Time, current *corev1.NodeCondition) corev1.NodeCondition {
	c := corev1.NodeCondition{
		Type: corev1.NodeNetworkUnavailable, Status: status, Reason: reasonFor(status), Message: messageFor(status),
		LastHeartbeatTime: metav1.NewTime(now), LastTransitionTime: metav1.NewTime(now),
	}
	if current != nil && current.Status == status {
		c.LastTransitionTime = current.LastTransitionTime
	}
	return c
}

func conditionOf(node *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for n := range node.Status.Conditions {
		if c := &node.Status.Conditions[n]; c.Type == kind {
			return c
		}
	}
	return nil
}
