package walks_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/controller/ipam"
	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
	"github.com/fairlead-k8s/fairlead/internal/controller/route"
)

// podNetwork is the CIDR of the pods. Each Node gets one address of it. Half of them are
// reserved, so there are often Nodes that wait for the CIDR of another.
var (
	podNetwork = netip.MustParsePrefix("10.0.0.0/29")
	families   = []ipam.Family{{Cluster: podNetwork, Mask: 32}}
	reserved   = netip.MustParsePrefix("10.0.0.0/30")
)

// mostCIDRs is the number of CIDRs that are not reserved.
const mostCIDRs = 4

// errTaken is the error of a cloud that has another route for this CIDR.
var errTaken = errors.New("there is a route for this CIDR")

// Routes implements cloudprovider.Interface.
func (v vendor) Routes() (cloudprovider.Routes, bool) { return routes{v.w}, v.w.pods }

// routes is the cloud's table. It has at most one route for each CIDR.
type routes struct{ w *world }

// ListRoutes implements cloudprovider.Routes.
func (r routes) ListRoutes(ctx context.Context, _ string) (all []*cloudprovider.Route, err error) {
	now := r.w.call(ctx)
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	if now.err != nil || now.denies {
		return nil, now.err
	}
	for cidr, node := range r.w.table {
		all = append(all, &cloudprovider.Route{Name: cidr, TargetNode: types.NodeName(node), DestinationCIDR: cidr})
	}
	return all, nil
}

// CreateRoute implements cloudprovider.Routes.
func (r routes) CreateRoute(ctx context.Context, _, _ string, wanted *cloudprovider.Route) error {
	cidr, node := wanted.DestinationCIDR, string(wanted.TargetNode)
	defer r.called("create", cidr, node)()
	return r.w.change(ctx, func() error {
		if other := r.w.table[cidr]; other != "" && other != node {
			return errTaken
		}
		r.w.table[cidr] = node
		return nil
	})
}

// DeleteRoute implements cloudprovider.Routes.
func (r routes) DeleteRoute(ctx context.Context, _ string, listed *cloudprovider.Route) error {
	cidr, node := listed.DestinationCIDR, string(listed.TargetNode)
	defer r.called("delete", cidr, node)()
	r.w.locked(func() {
		if n := r.w.node(node); n != nil && slices.Contains(n.Spec.PodCIDRs, cidr) {
			r.w.broken("S5: the route for %s of %s is deleted", cidr, n.UID)
		}
	})
	return r.w.change(ctx, func() error {
		if r.w.table[cidr] == node {
			delete(r.w.table, cidr)
		}
		return nil
	})
}

// called checks a call that changes a route. The returned function records the end of the
// call.
func (r routes) called(what, cidr, node string) (ended func()) {
	w := r.w
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note("    %s of the route for %s to %s", what, cidr, node)
	if under := w.routing[cidr]; under != "" {
		w.broken("S5: %s of the route for %s overlaps %s", what, cidr, under)
	}
	w.routing[cidr] = what
	return func() { w.locked(func() { delete(w.routing, cidr) }) }
}

// checkPodCIDRs checks a write of a Node. The caller holds mu.
func (w *world) checkPodCIDRs(was, now *corev1.Node) {
	before, after := was.Spec.PodCIDRs, now.Spec.PodCIDRs
	if slices.Equal(before, after) {
		return
	}
	if len(before) > 0 || len(after) != len(families) || netip.MustParsePrefix(after[0]).Overlaps(reserved) {
		w.broken("S11: the CIDRs of %s change from %v to %v", now.UID, before, after)
	}
	for _, o := range w.allNodes() {
		if o.UID != now.UID && slices.Equal(o.Spec.PodCIDRs, after) {
			w.broken("S11: %s gets the CIDRs %v of %s", now.UID, after, o.UID)
		}
	}
}

// checkPods checks that each Node has its CIDR, as long as there are any, and its route,
// and that no route is left behind. The caller holds mu.
func (w *world) checkPods() {
	if !w.pods {
		return
	}
	isTheirs := func(n *corev1.Node) bool { return isExcluded(n) || w.isForeign(n) }
	nodes := w.allNodes()
	waiting := slices.DeleteFunc(slices.Clone(nodes), func(n *corev1.Node) bool { return len(n.Spec.PodCIDRs) > 0 || isTheirs(n) })
	for _, n := range nodes {
		c := nodefact.Condition(n, corev1.NodeNetworkUnavailable)
		switch cidrs := n.Spec.PodCIDRs; {
		case isTheirs(n):
		case len(cidrs) == 0:
			// A Node of others may hold a CIDR that was reserved before it became theirs.
			if given := len(nodes) - len(waiting); given < mostCIDRs {
				w.broken("settled: %s has no CIDR, %d of %d are given", n.UID, given, mostCIDRs)
			}
		case w.table[cidrs[0]] != n.Name:
			w.broken("settled: %s has no route for %v, the cloud has %v", n.UID, cidrs, w.table)
		case c == nil || c.Status != corev1.ConditionFalse:
			w.broken("settled: %s has its route, and shows %+v", n.UID, c)
		}
	}
	for cidr, name := range w.table {
		owned := slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return isTheirs(n) && slices.Contains(n.Spec.PodCIDRs, cidr) })
		if w.node(name) == nil && !owned {
			w.broken("settled: the route for %s to %s is left behind", cidr, name)
		}
	}
}

// routeConfig is the configuration of the route controller.
func (w *world) routeConfig() route.Config {
	return route.Config{Claim: w.options.claim, Clusters: []netip.Prefix{podNetwork}, Syncs: 4, Limits: route.DefaultLimits()}
}

// Lease implements the recorders of the controllers. These events are about no object.
func (*world) Lease(types.NamespacedName, string, string, string) {}
