package conformance

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/provider"
)

// nodeChecks are the checks of the backends of a load balancer.
var nodeChecks = []Check{
	{
		ID: "loadbalancers/node-joins", Level: Core, Needs: needs(needMachines, needViewer), Source: sourceUpdate,
		Title: "A node that joins becomes a backend, and the others stay",
		Cost:  costNoTraffic,
		run: balanced(func(b *balancing) {
			s, nodes := b.newService("a"), b.nodes(3)
			b.ensured(s, nodes[:2])
			b.updated(s, nodes)
			b.backends("after "+b.call("UpdateLoadBalancer", s, nodes)+" = nil, with two nodes before", nodes, sameSet)
		}),
	},
	{
		ID: "loadbalancers/node-leaves", Level: Core, Needs: needs(needMachines, needViewer), Source: sourceUpdate,
		Title: "A node that leaves is no longer a backend, and the others stay",
		Cost:  "Requests go to a machine that is gone, and fail.",
		run: balanced(func(b *balancing) {
			s, nodes, _ := b.served(3)
			b.updated(s, nodes[:2])
			b.backends("after "+b.call("UpdateLoadBalancer", s, nodes[:2])+" = nil, with three nodes before", nodes[:2], sameSet)
		}),
	},
	{
		ID: "loadbalancers/update-same", Level: Extended, Needs: needs(needMachines, needMeter), Source: sourceUpdate,
		Title: "An update with the same nodes changes nothing in the cloud",
		Cost:  "The quota of the account is used up.",
		run: balanced(func(b *balancing) {
			s, nodes, _ := b.served(2)
			b.updated(s, nodes)
			if n := b.counted(func() { b.updated(s, nodes) }).Writes; n > 0 {
				b.failf("%s made %d calls that change the cloud, although the nodes were the same; want none", b.call("UpdateLoadBalancer", s, nodes), n)
			}
		}),
	},
	{
		ID: "loadbalancers/foreign-node", Level: Core, Needs: needs(needMachines, needViewer), Source: sourceUpdate,
		Title: "A node of another cloud does not prevent other nodes from being backends",
		Cost:  costNoTraffic,
		run:   withNode("node-of-another-cloud", "elsewhere://machine-1"),
	},
	{
		ID: "loadbalancers/no-provider-id", Level: Core, Needs: needs(needMachines, needViewer), Source: sourceUpdate,
		Title: "A node without provider ID does not prevent other nodes from being backends",
		Cost:  costNoTraffic,
		run:   withNode("node-that-is-not-initialized", ""),
	},
	{
		ID: "loadbalancers/zero-nodes", Level: Core, Needs: needs(needMachines, needViewer), Source: sourceUpdate,
		Title: "A load balancer without nodes keeps its address",
		Cost:  costSecond,
		// It passes no nodes to some calls, and accepts errors of these calls.
		run: balanced(func(b *balancing) {
			s, nodes, before := b.served(1)
			kept := b.only("after EnsureLoadBalancer = nil", nil)
			none := []*corev1.Node{}
			same := func(method string, err error) {
				b.only(fmt.Sprintf("after %s = %v", b.call(method, s, none), shown(err)), func(l LoadBalancer) error {
					if l.ID != kept.ID {
						return fmt.Errorf("has taken the place of %s", kept.ID)
					}
					return nil
				})
			}
			same("UpdateLoadBalancer", b.repeated(func() error { return b.update(b.ctx, s, none) }))
			_, err := b.tried(s, none)
			same("EnsureLoadBalancer", err)
			b.sameStatus("after there were no nodes for a moment", s, nodes, before)
		}),
	},
	{
		ID: "loadbalancers/too-many", Level: Extended, Needs: needs(needMachines), Source: sourceEnsure,
		Title: "If there are more nodes than the cloud allows, an error says so",
		Cost:  "Some nodes get no traffic, and no event says so.",
		run: balanced(func(b *balancing) {
			most := b.target.MaxTargets
			if most == 0 {
				b.notRunf("needs Target.MaxTargets, the cloud's limit of backends")
			}
			s, nodes := b.newService("a"), b.nodes(most+1)
			status, err := b.tried(s, nodes)
			if kind := b.kind(err); kind != provider.QuotaExceeded && kind != provider.Invalid {
				b.failf("%s = %s, an error of kind %q, and the cloud allows %d backends; want an error of kind %s or %s", b.call("EnsureLoadBalancer", s, nodes), answered(status, err), kind, most, provider.QuotaExceeded, provider.Invalid)
			}
		}),
	},
}

// withNode returns a check that gives a load balancer a node that cannot be a backend,
// together with other nodes. It requires that the other nodes become backends.
func withNode(name, providerID string) func(*trial) {
	return balanced(func(b *balancing) {
		other := identified(name, providerID)
		other.Status.Addresses = []corev1.NodeAddress{ // Without them, some providers do not look at the provider ID.
			{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}, {Type: corev1.NodeExternalIP, Address: "198.51.100.1"},
		}
		s, nodes := b.newService("a"), b.nodes(2)
		all := []*corev1.Node{other, nodes[0], nodes[1]}
		b.ensured(s, all[:2])
		b.backends("after "+b.call("EnsureLoadBalancer", s, all[:2])+" = nil", nodes[:1], contains)
		b.updated(s, all)
		b.backends("after "+b.call("UpdateLoadBalancer", s, all)+" = nil", nodes, contains)
	})
}
