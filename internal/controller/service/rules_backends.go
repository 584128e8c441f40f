package service

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/controller/allowance"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/ownership"
)

const (
	// debounce is how long no Node may change before a new set is made.
	// maxDebounce is the longest wait for that. Nodes join in large numbers,
	// and each set costs a call for each load balancer.
	debounce    = time.Second
	maxDebounce = 5 * time.Second
)

// BackendPolicy says which Nodes are behind load balancers (KEP-3458 and
// upstream-behaviour 6.6).
type BackendPolicy struct {
	// SkipUninitialized excludes Nodes that wait for their initialisation. It is set
	// if this daemon initialises Nodes.
	SkipUninitialized bool
	// WakeOnTaint and WakeOnDeletion make a new set at once when a Node gets the
	// autoscaler's taint, or begins to be deleted. Otherwise such a Node is removed
	// with the next change of another kind, as upstream does.
	WakeOnTaint, WakeOnDeletion bool
	// Claim says which Nodes are this daemon's. With OwnOnly no others are behind
	// load balancers.
	Claim   ownership.Claim
	OwnOnly bool
}

// isBackend reports whether a Node belongs behind load balancers. It does not
// matter whether the Node is ready: the cloud's health checks find that out more
// reliably, and a failure of the control plane must not remove the backends.
func (b BackendPolicy) isBackend(node *corev1.Node) bool {
	switch {
	case node.DeletionTimestamp != nil, isExcluded(node), nodefact.HasTaint(node, nodefact.TaintToBeDeleted):
		return false
	case b.isDisowned(node):
		return false
	default:
		return !b.SkipUninitialized || !nodefact.IsUninitialized(node)
	}
}

// isDisowned reports whether the Node is no backend because it is not this
// daemon's.
func (b BackendPolicy) isDisowned(node *corev1.Node) bool {
	_, disowned := b.Claim.Disowns(node)
	return b.OwnOnly && disowned
}

// foreignSchemes returns the provider-ID schemes of those Nodes in the set that
// are probably not this daemon's, in order. Without a claim nothing tells whose the
// Nodes are. Then all schemes are returned if there are several.
func (b BackendPolicy) foreignSchemes(s nodeSet) []string {
	all, foreign := map[string]bool{}, map[string]bool{}
	for _, node := range s.nodes {
		scheme := cmp.Or(nodefact.Scheme(node), "none")
		if node.Spec.ProviderID != "" {
			all[scheme] = true
		}
		if _, disowned := b.Claim.Disowns(node); disowned {
			foreign[scheme] = true
		}
	}
	if len(foreign) == 0 && len(all) > 1 && len(b.Claim.Schemes) == 0 {
		foreign = all
	}
	return slices.Sorted(maps.Keys(foreign))
}

// moveLimit bounds how often one Node joins or leaves the set. A kubelet can set
// the label that excludes its Node, and each move costs a call for each load
// balancer.
var moveLimit = allowance.Limit{Burst: 6, Every: 2 * time.Minute}

// member is whether a Node is in the set, and how often that has changed.
type member struct {
	is    bool
	moves allowance.Allowance
}

// next returns the member as it is now. If it has moved too often, it stays what it
// was, and later is the time until it may move.
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
		return member{is, m.moves.Used(moveLimit, now)}, 0
	}
}

// isLeaving reports whether the Node is no backend for a reason that its kubelet
// cannot set and remove.
func (b BackendPolicy) isLeaving(node *corev1.Node) bool {
	return node.DeletionTimestamp != nil || nodefact.HasTaint(node, nodefact.TaintToBeDeleted) || b.SkipUninitialized && nodefact.IsUninitialized(node)
}

func isExcluded(node *corev1.Node) bool {
	return nodefact.HasLabel(node, corev1.LabelNodeExcludeBalancers)
}

// nodeSet is one version of the Nodes behind all load balancers.
type nodeSet struct {
	// id names the set: two sets with the same ID have the same instances.
	id    string
	nodes []*corev1.Node // the informer's own, must not be changed
	made  time.Time
}

// names returns the names of the set's Nodes.
func (s nodeSet) names() []string {
	names := make([]string, 0, len(s.nodes))
	for _, node := range s.nodes {
		names = append(names, node.Name)
	}
	return names
}

// copies returns the set's Nodes for one call. The provider may change them, and
// keep them after its deadline, so no two calls share any. A copy of 5,000 Nodes
// as the informer keeps them is about 10 MB, and there are only as many as calls
// at the same time.
func (s nodeSet) copies() []*corev1.Node {
	nodes := make([]*corev1.Node, 0, len(s.nodes))
	for _, node := range s.nodes {
		nodes = append(nodes, node.DeepCopy())
	}
	return nodes
}

// setOf returns the set of those Nodes that are behind load balancers.
func (b BackendPolicy) setOf(all []*corev1.Node) nodeSet {
	return newSet(slices.DeleteFunc(slices.Clone(all), func(node *corev1.Node) bool { return !b.isBackend(node) }))
}

// newSet returns the set of these Nodes. It keeps the slice.
func newSet(nodes []*corev1.Node) nodeSet {
	s := nodeSet{nodes: nodes}
	slices.SortFunc(s.nodes, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	sum := sha256.New()
	for _, node := range s.nodes {
		sum.Write([]byte(node.Name + "\x00" + node.Spec.ProviderID + "\x00"))
	}
	s.id = hex.EncodeToString(sum.Sum(nil)[:8])
	return s
}
