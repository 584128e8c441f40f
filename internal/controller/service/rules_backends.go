package service

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

// moveLimit limits how often one Node may join or leave the set. There is a limit
// because a kubelet can set and remove the label that excludes its Node, and each such
// move costs a call for each load balancer.
var moveLimit = allowance.Limit{Burst: 6, Every: 2 * time.Minute}

// member records whether a Node is in the set, and how much of moveLimit it has used.
type member struct {
	uid   types.UID
	is    bool
	moves allowance.Allowance
	// renewals counts how often the Node has got another machine or other IP addresses
	// while it was in the set. renewed means that it has since the last decision.
	renewals int
	renewed  bool
}

// next returns the member after a decision about the current version of the Node. A
// Node that has moved too often does not move now, and the second result is the time
// until it may move. This limit does not apply to a Node for which isLeaving is true. If
// a Node in the set has got another machine or other IP addresses, the load balancers have
// to get the Node once more, which counts as a move.
func (m member) next(b BackendPolicy, node *corev1.Node, now time.Time) (next member, later time.Duration) {
	is := b.isBackend(node)
	if m.uid != node.UID {
		return member{uid: node.UID, is: is}, 0
	}
	isRenewed := is && m.is && m.renewed
	switch wait := m.moves.Next(moveLimit).Sub(now); {
	case is == m.is && !isRenewed, !is && b.isLeaving(node):
	case wait > 0:
		return m, wait
	default:
		m.moves = m.moves.Used(moveLimit, now)
	}
	if isRenewed {
		m.renewals++
	}
	m.is, m.renewed = is, false
	return m, 0
}

// nodeSet is one version of the Nodes behind all load balancers.
type nodeSet struct {
	// id is the ID of the set. Two sets with the same ID have the same instances.
	id    string
	nodes []*corev1.Node // in the order of their names; they belong to the informer and must not be changed
	made  time.Time
	// traits are those of the nodes, in the same order. Only the set of all usable Nodes
	// has them.
	traits []trait
}

// names returns the names of the set's Nodes.
func (s nodeSet) names() []string {
	names := make([]string, 0, len(s.nodes))
	for _, node := range s.nodes {
		names = append(names, node.Name)
	}
	return names
}

// membership says which Nodes are behind load balancers.
type membership struct {
	policy  BackendPolicy
	members map[string]member // of all Nodes, by name
	set     nodeSet
	// next is the earliest time at which a Node that has moved too often may move
	// again. It is zero if there is no such Node.
	next time.Time
}

// remake decides about all Nodes, and reports whether the set has changed.
func (r *membership) remake(nodes []*corev1.Node, now time.Time) bool {
	set := nodeSet{made: now}
	members := make(map[string]member, len(nodes))
	r.next = time.Time{}
	for _, node := range nodes {
		m, later := r.members[node.Name].next(r.policy, node, now)
		members[node.Name] = m
		if at := now.Add(later); later > 0 && (r.next.IsZero() || at.Before(r.next)) {
			r.next = at
		}
		if m.is {
			set.nodes = append(set.nodes, node)
		}
	}
	r.members = members
	slices.SortFunc(set.nodes, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	if set.id = r.idOf(set.nodes); set.id == r.set.id {
		return false
	}
	for _, node := range set.nodes {
		set.traits = append(set.traits, traitOf(node))
	}
	r.set = set
	return true
}

// idOf returns the ID of a set with these Nodes.
func (r *membership) idOf(nodes []*corev1.Node) string {
	sum := sha256.New()
	for _, node := range nodes {
		_, _ = fmt.Fprintf(sum, "%s\x00%s\x00%s\x00%d\n", node.Name, node.Spec.ProviderID, node.UID, r.members[node.Name].renewals) // A hash accepts all data.
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// of returns the members in the seat of a Service. The set of all usable Nodes stays the
// same set if all of them are members.
func (r *membership) of(s seat, service types.UID) nodeSet {
	at := s.members(r.policy.Subset, service, r.set)
	if len(at) == len(r.set.nodes) {
		return r.set
	}
	set := nodeSet{made: r.set.made}
	for _, n := range at {
		set.nodes = append(set.nodes, r.set.nodes[n])
	}
	if set.id = r.idOf(set.nodes); s.placed.After(set.made) {
		set.made = s.placed
	}
	return set
}

// foreignSchemes returns the sorted provider-ID schemes of those Nodes in the set that
// probably do not belong to this daemon. If this daemon claims no scheme, it cannot
// tell which Nodes are its own. Then foreignSchemes returns all schemes if there are
// several.
func (r *membership) foreignSchemes() []string {
	all, foreign := map[string]bool{}, map[string]bool{}
	for _, node := range r.set.nodes {
		scheme := cmp.Or(nodefact.Scheme(node), "none")
		if node.Spec.ProviderID != "" {
			all[scheme] = true
		}
		if _, disowned := r.policy.Claim.Disowns(node); disowned {
			foreign[scheme] = true
		}
	}
	if len(foreign) == 0 && len(all) > 1 && len(r.policy.Claim.Schemes) == 0 {
		foreign = all
	}
	return slices.Sorted(maps.Keys(foreign))
}

const (
	// minQuiet and maxQuiet are bounds of the time for which the Nodes have to stay
	// unchanged before a new set is made. maxPause is the longest wait for a new set.
	// There is a wait because Nodes join in large numbers, and each set costs a call
	// for each load balancer.
	minQuiet = time.Second
	maxQuiet = 4 * time.Second
	maxPause = 5 * time.Second
)

// pause has the facts that decide how long a new set waits for further changes of
// Nodes. The zero value means that no set was made lately.
type pause struct {
	made  time.Time     // when the last new set was made
	quiet time.Duration // the time for which the Nodes had to stay unchanged before that set was made
}

// next is called when a Node changes. It returns the time for which the Nodes then have
// to stay unchanged before the next set is made. If no set was made for some time, the
// set is made at once. Otherwise it is made only after a wait, so that Nodes that
// change together share a set. Each such set doubles the wait before the next one, up
// to maxQuiet.
func (p pause) next(now time.Time) time.Duration {
	if now.Sub(p.made) >= maxPause {
		return 0
	}
	return min(max(2*p.quiet, minQuiet), maxQuiet)
}

// left returns the time until the next set is made. first is the time of the first
// change of a Node since the previous set, and last is the time of the newest change.
// The wait is never longer than maxPause, whatever changes in the meantime.
func left(quiet time.Duration, first, last, now time.Time) time.Duration {
	return min(last.Add(quiet).Sub(now), first.Add(maxPause).Sub(now))
}

// BackendPolicy says which Nodes are behind load balancers (KEP-3458 and
// upstream-behaviour 6.6).
type BackendPolicy struct {
	// SkipUninitialized excludes Nodes that wait for their initialisation. It is set
	// if this daemon initialises Nodes.
	SkipUninitialized bool
	// If WakeOnTaint is true, a new set is made when a Node gets or loses the
	// autoscaler's taint. If WakeOnDeletion is true, a new set is made when a Node
	// begins to be deleted. If a field is false, such a change has no effect until a
	// change of another kind makes a new set, as in upstream.
	WakeOnTaint, WakeOnDeletion bool
	// LeaveOn has the types of conditions. A Node of which one is True is not behind load
	// balancers, and the change makes a new set.
	LeaveOn []corev1.NodeConditionType
	// Claim says which Nodes belong to this daemon. If OwnOnly is set, only these
	// Nodes are behind load balancers.
	Claim   ownership.Claim
	OwnOnly bool
	// Subset says which of these Nodes are behind the load balancer of one Service.
	Subset Subset
}

// isBackend reports whether a Node belongs behind load balancers. It does not matter
// whether the Node is ready: the cloud's health checks show that more reliably, and a
// failure of the control plane must not remove the backends.
func (b BackendPolicy) isBackend(node *corev1.Node) bool {
	switch {
	case node.DeletionTimestamp != nil, isExcluded(node), nodefact.HasTaint(node, nodefact.TaintToBeDeleted):
		return false
	case b.isDisowned(node), b.showsEnd(node):
		return false
	default:
		return !b.SkipUninitialized || !nodefact.IsUninitialized(node)
	}
}

// isDisowned reports whether the Node is not a backend because it does not belong to
// this daemon.
func (b BackendPolicy) isDisowned(node *corev1.Node) bool {
	_, disowned := b.Claim.Disowns(node)
	return b.OwnOnly && disowned
}

// showsEnd reports whether a condition says that the Node is to leave load balancers.
func (b BackendPolicy) showsEnd(node *corev1.Node) bool {
	return slices.ContainsFunc(b.LeaveOn, func(kind corev1.NodeConditionType) bool {
		shown := nodefact.Condition(node, kind)
		return shown != nil && shown.Status == corev1.ConditionTrue
	})
}

// isLeaving reports whether the Node's deletion, the autoscaler's taint or a missing
// initialisation keeps the Node from being a backend. A kubelet cannot switch these
// three on and off. It can do so with the label that excludes its Node, and with
// conditions, so these do not count here.
func (b BackendPolicy) isLeaving(node *corev1.Node) bool {
	return node.DeletionTimestamp != nil || nodefact.HasTaint(node, nodefact.TaintToBeDeleted) || b.SkipUninitialized && nodefact.IsUninitialized(node)
}

func isExcluded(node *corev1.Node) bool {
	return nodefact.HasLabel(node, corev1.LabelNodeExcludeBalancers)
}
