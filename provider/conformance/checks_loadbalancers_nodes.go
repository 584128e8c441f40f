package conformance

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/provider"
)

// nodeChecks returns the checks of the backends of a load balancer.
func nodeChecks() []Check {
	needs := []Need{NeedMachines, NeedViewer}
	return []Check{
		{
			ID: "loadbalancers/node-joins", Level: Core, Needs: needs, Source: sourceUpdate, run: balanced(lbNodeJoins),
			Title: "A node that joins becomes a backend, and the others stay", Cost: costNoTraffic,
		},
		{
			ID: "loadbalancers/node-leaves", Level: Core, Needs: needs, Source: sourceUpdate, run: balanced(lbNodeLeaves),
			Title: "A node that leaves is no longer a backend, and the others stay", Cost: "Requests go to a machine that is gone, and fail.",
		},
		{
			ID: "loadbalancers/update-same", Level: Extended, Needs: []Need{NeedMachines, NeedMeter}, Source: sourceUpdate, run: balanced(lbUpdateSame),
			Title: "An update with the same nodes changes nothing in the cloud", Cost: "The quota of the account is used up.",
		},
		{
			ID: "loadbalancers/foreign-node", Level: Core, Needs: needs, Source: sourceUpdate, run: balanced(lbForeignNode),
			Title: "A node of another cloud does not prevent other nodes from being backends", Cost: costNoTraffic,
		},
		{
			ID: "loadbalancers/no-provider-id", Level: Core, Needs: needs, Source: sourceUpdate, run: balanced(lbNoProviderID),
			Title: "A node without provider ID does not prevent other nodes from being backends", Cost: costNoTraffic,
		},
		{
			ID: "loadbalancers/zero-nodes", Level: Core, Needs: needs, Source: sourceUpdate, run: balanced(lbZeroNodes),
			Title: "A load balancer without nodes keeps its address", Cost: costSecond,
		},
		{
			ID: "loadbalancers/too-many", Level: Extended, Needs: []Need{NeedMachines}, Source: sourceEnsure, run: balanced(lbTooMany),
			Title: "If there are more nodes than the cloud allows, an error says so", Cost: "Some nodes get no traffic, and no event says so.",
		},
	}
}

func lbNodeJoins(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(3)
	b.ensured(s, nodes[:2])
	b.updated(s, nodes)
	b.backendsAre("after "+b.call("UpdateLoadBalancer", s, nodes)+" = nil, with two nodes before", nodes)
}

func lbNodeLeaves(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(3)
	b.ensured(s, nodes)
	b.updated(s, nodes[:2])
	b.backendsAre("after "+b.call("UpdateLoadBalancer", s, nodes[:2])+" = nil, with three nodes before", nodes[:2])
}

func lbUpdateSame(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(2)
	b.ensured(s, nodes)
	b.updated(s, nodes)
	if n := b.writes(func() { b.updated(s, nodes) }); n > 0 {
		b.failf("%s made %d calls that change the cloud, although the nodes were the same; want none", b.call("UpdateLoadBalancer", s, nodes), n)
	}
}

func lbForeignNode(b *balancing) {
	b.withNode(identified("node-of-another-cloud", "elsewhere://machine-1"))
}

func lbNoProviderID(b *balancing) { b.withNode(identified("node-that-is-not-initialized", "")) }

// withNode gives the load balancer a node that cannot be a backend, together
// with other nodes. It requires that the other nodes become backends.
func (b *balancing) withNode(other *corev1.Node) {
	s, nodes := b.newService("a"), b.nodes(2)
	other.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
	all := []*corev1.Node{other, nodes[0]}
	b.ensured(s, all)
	b.backendsHave("after "+b.call("EnsureLoadBalancer", s, all)+" = nil", nodes[:1])
	all = append(all, nodes[1])
	b.updated(s, all)
	b.backendsHave("after "+b.call("UpdateLoadBalancer", s, all)+" = nil", nodes)
}

// lbZeroNodes passes no nodes to some calls, and accepts errors of these calls.
func lbZeroNodes(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(1)
	before := b.ensured(s, nodes)
	kept := b.only("after EnsureLoadBalancer = nil", nil)
	same := func(method string, err error) {
		b.only(fmt.Sprintf("after %s = %v", b.call(method, s, []*corev1.Node{}), shown(err)), func(l LoadBalancer) error {
			if l.ID != kept.ID {
				return fmt.Errorf("has taken the place of %s", kept.ID)
			}
			return nil
		})
	}
	same("UpdateLoadBalancer", b.repeated(func() error { return b.update(b.ctx, s, []*corev1.Node{}) }))
	_, err := b.tried(s, []*corev1.Node{})
	same("EnsureLoadBalancer", err)
	if after := b.ensured(s, nodes); !slices.Equal(ingress(before), ingress(after)) {
		b.failf("%s = %s, and %s before there were no nodes for a moment; want the same address", b.call("EnsureLoadBalancer", s, nodes), answered(after, nil), answered(before, nil))
	}
}

func lbTooMany(b *balancing) {
	most := b.suite.target.MaxTargets
	if most == 0 {
		b.notRunf("needs Target.MaxTargets, the cloud's limit of backends")
	}
	s, nodes := b.newService("a"), b.nodes(most+1)
	status, err := b.tried(s, nodes)
	if kind := b.kind(err); kind != provider.QuotaExceeded && kind != provider.Invalid {
		b.failf("%s = %s, an error of kind %q, and the cloud allows %d backends; want an error of kind %s or %s", b.call("EnsureLoadBalancer", s, nodes), answered(status, err), kind, most, provider.QuotaExceeded, provider.Invalid)
	}
}

// backendsAre requires that exactly these nodes are the backends.
func (b *balancing) backendsAre(when string, nodes []*corev1.Node) {
	wanted := providerIDs(nodes)
	b.only(when, func(l LoadBalancer) error {
		if is := slices.Sorted(slices.Values(l.Backends)); !slices.Equal(is, wanted) {
			return fmt.Errorf("has the backends %v and not %v", is, wanted)
		}
		return nil
	})
}

// backendsHave requires that these nodes are among the backends.
func (b *balancing) backendsHave(when string, nodes []*corev1.Node) {
	b.only(when, func(l LoadBalancer) error {
		for _, id := range providerIDs(nodes) {
			if !slices.Contains(l.Backends, id) {
				return fmt.Errorf("has the backends %v and not %s", l.Backends, id)
			}
		}
		return nil
	})
}

func providerIDs(nodes []*corev1.Node) []string {
	var all []string
	for _, node := range nodes {
		all = append(all, node.Spec.ProviderID)
	}
	slices.Sort(all)
	return all
}
