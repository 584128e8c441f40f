package skeleton

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

// Table has the objects that the route controller looks at.
type Table struct {
	Clusters []netip.Prefix
	Nodes    []*corev1.Node
	Listed   []cloud.Route
}

// Routes returns what one pass of the route controller does (upstream-behaviour 5.2).
// Nothing bounds the deletions (10.3).
func (t Table) Routes() []step.Step {
	var all []step.Step
	for _, r := range t.Listed {
		s := step.Step{Object: "route/" + r.CIDR, Effect: step.None, Do: nothing, Why: "it stays"}
		if why := t.strays(r); why != "" && t.inCluster(r.CIDR) {
			s.Effect, s.Do, s.Why = step.Delete, "delete", why
		}
		all = append(all, s)
	}
	for _, node := range t.Nodes {
		before := len(all)
		for _, cidr := range cidrsOf(node) {
			if !slices.ContainsFunc(t.Listed, func(r cloud.Route) bool { return provides(r, node, cidr) }) {
				all = append(all, step.Step{Object: "route/" + cidr, Effect: step.Create, Do: "create", Why: "no listed route leads this CIDR to node " + node.Name})
			}
		}
		if s, ok := t.condition(node); ok && len(all) == before { // If a route is missing, the condition is written after its creation.
			all = append(all, s)
		}
	}
	return all
}

// strays returns the reason to delete a route, or "" if the route stays. The caller
// must check that the route is in a CIDR of the cluster.
func (t Table) strays(r cloud.Route) string {
	to := slices.IndexFunc(t.Nodes, func(n *corev1.Node) bool { return n.Name == r.Node })
	switch {
	case r.Blackhole:
		return "it is a blackhole"
	case r.Node == "" || to < 0:
		return "it leads to no Node of the cluster"
	case !slices.Contains(cidrsOf(t.Nodes[to]), r.CIDR):
		return "its Node does not have this CIDR"
	case !provides(r, t.Nodes[to], r.CIDR):
		return "its Node has other addresses"
	}
	return ""
}

// inCluster reports whether the first or the last address of a route is in a CIDR of
// the cluster.
func (t Table) inCluster(cidr string) bool {
	route, err := netip.ParsePrefix(cidr)
	if err != nil {
		return false
	}
	route = route.Masked()
	return slices.ContainsFunc(t.Clusters, func(c netip.Prefix) bool {
		return c.Contains(route.Addr()) || c.Contains(last(route))
	})
}

// last returns the last address of a CIDR.
func last(p netip.Prefix) netip.Addr {
	bytes := p.Addr().AsSlice()
	for bit := p.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	addr, _ := netip.AddrFromSlice(bytes) // This cannot fail, because bytes has the length of an address.
	return addr
}

// provides reports whether a route is the one that the Node needs. CIDRs are
// compared as text. A blackhole route also counts.
func provides(r cloud.Route, node *corev1.Node, cidr string) bool {
	return r.CIDR == cidr && r.Node == node.Name && (!r.Addressed || slices.Equal(sorted(r.Addresses), sorted(node.Status.Addresses)))
}

// condition returns the step that writes the condition NetworkUnavailable. It
// applies only if no route is missing (upstream-behaviour 5.3).
func (t Table) condition(node *corev1.Node) (s step.Step, written bool) {
	status, reason := corev1.ConditionFalse, "RouteCreated"
	if len(cidrsOf(node)) == 0 {
		status, reason = corev1.ConditionTrue, "NoRouteCreated"
		if !slices.ContainsFunc(t.Listed, func(r cloud.Route) bool { return r.Node == node.Name }) {
			return step.Step{}, false
		}
	}
	if shown := nodefact.Condition(node, corev1.NodeNetworkUnavailable); shown != nil && shown.Status == status && shown.Reason == reason {
		return step.Step{}, false
	}
	return step.Step{Object: "node/" + node.Name, Effect: step.Update, Do: "update", Why: step.Condition(corev1.NodeNetworkUnavailable, status, reason)}, true
}

func cidrsOf(node *corev1.Node) []string {
	if len(node.Spec.PodCIDRs) == 0 && node.Spec.PodCIDR != "" {
		return []string{node.Spec.PodCIDR}
	}
	return node.Spec.PodCIDRs
}
