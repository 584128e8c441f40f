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
)

// moveLimit limits how often one Node may join or leave the set. There is a limit
// because a kubelet can set and remove the label that excludes its Node, and each such
// move costs a call for each load balancer.
var moveLimit = allowance.Limit{Burst: 6, Every: 2 * time.Minute}

// member records whether a Node is in the set, and how much of moveLimit it has used.
type member struct {
	is    bool
	moves allowance.Allowance
	// machines counts the machines that the Node has had while it was in the set.
	machines int

	uid        types.UID
	providerID string
	// scheme is the provider-ID scheme.
	scheme string
	// foreign means that the Node does not belong to this daemon.
	foreign bool
}

// next returns the member after a decision about the current version of the Node. A
// Node that has moved too often does not move now, and the second result is the time
// until it may move. This limit does not apply to a Node for which isLeaving is true.
func (m member) next(b BackendPolicy, node *corev1.Node, now time.Time) (next member, later time.Duration) {
	is := b.isBackend(node)
	switch wait := m.moves.Next(moveLimit).Sub(now); {
	case is == m.is:
		return m, 0
	case !is && b.isLeaving(node):
		return member{moves: m.moves}, 0
	case wait > 0:
		return m, wait
	default:
		return member{is: is, moves: m.moves.Used(moveLimit, now)}, 0
	}
}

// renewed returns the member after its Node has got another machine. The load balancers
// have to get the Node once more, which counts as a move. The second result is the time
// until this may happen.
func (m member) renewed(now time.Time) (next member, later time.Duration) {
	if wait := m.moves.Next(moveLimit).Sub(now); wait > 0 {
		return m, wait
	}
	m.machines, m.moves = m.machines+1, m.moves.Used(moveLimit, now)
	return m, 0
}

// membership says which Nodes are behind load balancers. After a change of one Node,
// only the decision about that Node is made again, however many Nodes there are.
type membership struct {
	policy  BackendPolicy
	members map[string]member    // of all Nodes, by name
	held    map[string]time.Time // Nodes that have moved too often, by name, and the times at which they may move again
	// replaced has the names of the Nodes that have got another machine since they were
	// last decided about.
	replaced map[string]bool
	set      nodeSet
	// sum combines the digests of the set's Nodes with XOR.
	sum [sha256.Size]byte
	// schemes counts the Nodes in the set that have a provider ID. The map foreign
	// counts the Nodes in the set that do not belong to this daemon. Both maps have one
	// counter for each provider-ID scheme.
	schemes, foreign map[string]int
}

func newMembership(policy BackendPolicy) *membership {
	r := &membership{policy: policy, members: map[string]member{}, held: map[string]time.Time{}, replaced: map[string]bool{}, schemes: map[string]int{}, foreign: map[string]int{}}
	r.set.id = r.id()
	return r
}

// id returns the ID of the set.
func (r *membership) id() string { return hex.EncodeToString(r.sum[:]) }

// change decides again about Nodes that may have changed, and reports whether the set
// has changed. The names must be sorted and have no duplicates. The function node
// returns the Node with a name, or nil if there is none.
func (r *membership) change(names []string, node func(name string) *corev1.Node, now time.Time) bool {
	nodes, rest := make([]*corev1.Node, 0, len(r.set.nodes)+len(names)), r.set.nodes
	for _, name := range names {
		at, found := slices.BinarySearchFunc(rest, name, func(n *corev1.Node, name string) int { return strings.Compare(n.Name, name) })
		nodes, rest = append(nodes, rest[:at]...), rest[at:]
		if found {
			rest = rest[1:]
		}
		if n := node(name); r.decide(name, n, now) {
			nodes = append(nodes, n)
		}
	}
	if r.id() == r.set.id {
		return false
	}
	r.set = nodeSet{id: r.id(), nodes: append(nodes, rest...), made: now}
	return true
}

// decide decides about one Node and reports whether it is in the set. A nil node
// means that there is no Node with this name.
func (r *membership) decide(name string, node *corev1.Node, now time.Time) bool {
	was, known := r.members[name]
	r.count(name, was, -1)
	delete(r.members, name)
	delete(r.held, name)
	if node == nil || !known || was.uid != node.UID {
		delete(r.replaced, name)
	}
	if node == nil {
		return false
	}
	if !known || was.uid != node.UID {
		was = member{is: r.policy.isBackend(node)}
	}
	m, later := was.next(r.policy, node, now)
	if r.replaced[name] && m.is && later == 0 {
		m, later = m.renewed(now)
	}
	if later > 0 {
		r.held[name] = now.Add(later)
	} else {
		delete(r.replaced, name)
	}
	m.uid, m.providerID, m.scheme = node.UID, node.Spec.ProviderID, nodefact.Scheme(node)
	_, m.foreign = r.policy.Claim.Disowns(node)
	r.members[name] = m
	r.count(name, m, 1)
	return m.is
}

// count updates the ID and the counters of the set for a member. n is 1 to add the
// member, and -1 to remove it.
func (r *membership) count(name string, m member, n int) {
	if !m.is {
		return
	}
	// With XOR, the same operation adds and removes a Node, and the order of the Nodes
	// does not matter.
	for i, b := range sha256.Sum256(fmt.Append(nil, name, "\x00", m.providerID, "\x00", m.uid, "\x00", m.machines)) {
		r.sum[i] ^= b
	}
	if m.providerID != "" {
		add(r.schemes, cmp.Or(m.scheme, "none"), n)
	}
	if m.foreign {
		add(r.foreign, cmp.Or(m.scheme, "none"), n)
	}
}

func add(counts map[string]int, key string, n int) {
	if counts[key] += n; counts[key] == 0 {
		delete(counts, key)
	}
}

// nextMove returns the next time at which a Node that has moved too often may move
// again. It returns the zero time if there is no such Node.
func (r *membership) nextMove() time.Time {
	var next time.Time
	for _, at := range r.held {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}

// foreignSchemes returns the sorted provider-ID schemes of those Nodes in the set that
// probably do not belong to this daemon. If this daemon claims no scheme, it cannot
// tell which Nodes are its own. Then foreignSchemes returns all schemes if there are
// several.
func (r *membership) foreignSchemes() []string {
	if len(r.foreign) == 0 && len(r.schemes) > 1 && len(r.policy.Claim.Schemes) == 0 {
		return slices.Sorted(maps.Keys(r.schemes))
	}
	return slices.Sorted(maps.Keys(r.foreign))
}
