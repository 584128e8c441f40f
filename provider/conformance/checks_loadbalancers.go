package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// The parts of the contract that the checks of load balancers cite.
const (
	sourceGet     = "LoadBalancer.GetLoadBalancer: whether the specified load balancer exists, and if so, what its status is"
	sourceEnsure  = "LoadBalancer.EnsureLoadBalancer: creates a new load balancer 'name', or updates the existing one, and returns its status"
	sourceUpdate  = "LoadBalancer.UpdateLoadBalancer: updates hosts under the specified load balancer"
	sourceDelete  = "LoadBalancer.EnsureLoadBalancerDeleted: deletes the specified load balancer if it exists, and returns nil if it did not exist or was deleted"
	sourceField   = "ServiceSpec: a field of the Service means for all clouds what the API says"
	costLeak      = "The account pays for what no Service uses, and its quota fills up."
	costFinalizer = "The Service is never removed: its finalizer waits for a deletion that succeeds."
	costSecond    = "A Service gets another address, and the former load balancer is never deleted."
	costNoTraffic = "Nodes of the Service get no traffic, and requests fail."
	costTaken     = "A load balancer that somebody else needs is changed or deleted."
)

// creationChecks are the checks of the creation of a load balancer.
var creationChecks = []Check{
	{
		ID: "loadbalancers/name", Level: Core,
		Source: "LoadBalancer.GetLoadBalancerName: returns the name of the load balancer",
		Title:  "The name stays the same, and two Services have different names",
		Cost:   "After a restart of the daemon the load balancer is not found, or two Services share one.",
		// It accepts the same name for two clusters, because UIDs of Services are unique.
		run: balanced(func(b *balancing) {
			ask := func(cluster string, s *corev1.Service) string {
				return b.loadBalancer().GetLoadBalancerName(b.ctx, cluster, s.DeepCopy())
			}
			s, other := b.newService("a"), b.newService("b")
			elsewhere := s.DeepCopy()
			elsewhere.UID = other.UID
			call := b.call("GetLoadBalancerName", s, nil)
			name, again := ask(b.cluster, s), ask(b.cluster, s)
			if name == "" || again != name {
				b.failf("%s = %q, and %q when it is called again; want the same name", call, name, again)
			}
			if ask(b.cluster, other) == name || ask(b.cluster+"-2", elsewhere) == name {
				b.failf("%s = %q, and the same for %s, or for cluster %q and the UID %s; want other names", call, name, showService(other), b.cluster+"-2", elsewhere.UID)
			}
			b.restart()
			if again := ask(b.cluster, s); again != name {
				b.failf("%s = %q, and %q after a restart of the provider; want the same name", call, name, again)
			}
		}),
	},
	{
		ID: "loadbalancers/update-none", Level: Core, Needs: needs(needMachines, needInventory), Source: sourceUpdate,
		Title: "An update of nodes creates no load balancer",
		Cost:  costLeak,
		run: balanced(func(b *balancing) {
			s, nodes := b.newService("a"), b.nodes(1)
			b.keep(s)
			err := b.update(b.ctx, s, nodes) // Both an error and nil are right.
			b.nothingLeft("after " + b.call("UpdateLoadBalancer", s, nodes) + " = " + shown(err).Error() + " without a load balancer")
		}),
	},
	{
		ID: "loadbalancers/create", Level: Core, Needs: needs(needMachines, needViewer), Source: sourceEnsure,
		Title: "A Service gets one load balancer with an address",
		Cost:  "The Service cannot be reached, or the account pays for two load balancers.",
		run: balanced(func(b *balancing) {
			s, nodes, status := b.served(1)
			if len(ingress(status)) == 0 {
				b.failf("%s = %s; want an address, or an api.RetryError while there is none", b.call("EnsureLoadBalancer", s, nodes), answered(status, nil))
			}
			b.only("after "+b.call("EnsureLoadBalancer", s, nodes)+" = nil", nil)
		}),
	},
	{
		ID: "loadbalancers/again", Level: Core, Needs: needs(needMachines), Source: sourceEnsure,
		Title: "A second call returns the same status",
		Cost:  "The address is removed from the status of the Service, and then from DNS.",
		run: balanced(func(b *balancing) {
			s, nodes, first := b.served(1)
			b.sameStatus("when it is called again", s, nodes, first)
		}),
	},
	{
		ID: "loadbalancers/again-writes", Level: Extended, Needs: needs(needMachines, needMeter), Source: sourceEnsure,
		Title: "A second call changes nothing in the cloud",
		Cost:  "A restart of the daemon changes each load balancer, and the quota of the account is used up.",
		run: balanced(func(b *balancing) {
			s, nodes, _ := b.served(1)
			n := b.counted(func() { b.ensured(s, nodes) }).Writes
			b.measure("ensureWrites", float64(n))
			if n > 0 {
				b.failf("%s made %d calls that change the cloud, although nothing had changed; want none", b.call("EnsureLoadBalancer", s, nodes), n)
			}
		}),
	},
	{
		ID: "loadbalancers/get-after", Level: Core, Needs: needs(needMachines), Source: sourceGet,
		Title: "A load balancer that was created exists, with its address",
		Cost:  "A Service that is no longer of type LoadBalancer keeps its load balancer.",
		run: balanced(func(b *balancing) {
			s, _, wanted := b.served(1)
			b.eventually(func() error {
				status, exists, err := b.get(b.ctx, s)
				if exists && err == nil && slices.Equal(ingress(status), ingress(wanted)) {
					return nil
				}
				return fmt.Errorf("%s = %s, %v, %w after EnsureLoadBalancer = %s; want the same status, true, nil", b.call("GetLoadBalancer", s, nil), showStatus(status), exists, shown(err), showStatus(wanted))
			})
		}),
	},
	{
		ID: "loadbalancers/restart", Level: Core, Needs: needs(needMachines, needViewer), Source: sourceEnsure,
		Title: "A restarted provider finds its load balancer",
		Cost:  costSecond,
		run: balanced(func(b *balancing) {
			s, nodes, before := b.served(1)
			b.restart()
			b.sameStatus("after a restart of the provider", s, nodes, before)
			b.only("after a restart of the provider and "+b.call("EnsureLoadBalancer", s, nodes)+" = nil", nil)
		}),
	},
	{
		ID: "loadbalancers/arguments", Level: Core, Needs: needs(needMachines),
		Source: "LoadBalancer: implementations must treat the Service and Node parameters as read-only",
		Title:  "The Service and the Nodes of a call are not changed",
		Cost:   "The daemon's own copy of the object changes, and decisions about it are wrong.",
		run: balanced(func(b *balancing) {
			s, nodes := b.newService("a"), b.nodes(2)
			s.Annotations = map[string]string{"example.com/kept": "yes"}
			before, nodesBefore := s.DeepCopy(), copies(nodes)
			for _, call := range []struct {
				method string
				make   func()
			}{
				{"EnsureLoadBalancer", func() { b.ensured(s, nodes) }},
				{"UpdateLoadBalancer", func() { b.updated(s, nodes) }},
				{"GetLoadBalancer", func() { _, _, _ = b.get(b.ctx, s) }}, // another check judges the answer
				{"GetLoadBalancerName", func() { b.loadBalancer().GetLoadBalancerName(b.ctx, b.cluster, s) }},
				{"EnsureLoadBalancerDeleted", func() { b.deleted(s) }},
			} {
				if call.make(); !reflect.DeepEqual(s, before) || !reflect.DeepEqual(nodes, nodesBefore) {
					b.failf("%s changed what it was given: it was %+v, %+v and is %+v, %+v", call.method, *before, nodesBefore, *s, nodes)
				}
			}
		}),
	},
	{
		ID: "loadbalancers/not-blocking", Level: Extended, Needs: needs(needMachines, needHolder),
		Source: "LoadBalancer.EnsureLoadBalancer: a (possibly wrapped) api.RetryError when the load balancer is not ready yet",
		Title:  "A call does not wait until a load balancer is ready",
		Cost:   "Other Services wait for minutes.",
		run: balanced(func(b *balancing) {
			s, nodes := b.newService("a"), b.nodes(1)
			defer b.hold(s)()
			status, err := b.ensureHeld(s, nodes)
			if err == nil && len(ingress(status)) == 0 || err != nil && !b.saysWhen(err) {
				b.failf("%s = %s, while the cloud was making the load balancer; want an api.RetryError that errors.As finds", b.call("EnsureLoadBalancer", s, nodes), answered(status, err))
			}
		}),
	},
	{
		ID: "loadbalancers/new-uid", Level: Core, Needs: needs(needMachines, needInventory), Source: sourceEnsure,
		Title: "A Service that was deleted and created again gets a load balancer",
		Cost:  "A Service that was deleted and created again never works, or its old load balancer is left behind.",
		run: balanced(func(b *balancing) {
			first, nodes, _ := b.served(1)
			second := b.newService("a")
			b.ensured(second, nodes)
			b.deleted(second)
			b.deleted(first)
			b.nothingLeft("after a Service was created anew with the same name, and both load balancers were deleted")
		}),
	},
}

// deletionChecks are the checks of the deletion of a load balancer.
var deletionChecks = []Check{
	{
		ID: "loadbalancers/get-none", Level: Core, Source: sourceGet,
		Title: "A load balancer that was never created does not exist",
		Cost:  "Nobody notices that the load balancer of a Service is gone.",
		run: balanced(func(b *balancing) {
			s := b.newService("a")
			if status, exists, err := b.get(b.ctx, s); exists || err != nil {
				b.failf("%s = %s, %v, %v before any load balancer was created; want nil, false, nil", b.call("GetLoadBalancer", s, nil), showStatus(status), exists, shown(err))
			}
		}),
	},
	{
		ID: "loadbalancers/delete-none", Level: Core, Source: sourceDelete,
		Title: "The deletion of a load balancer that was never created succeeds",
		Cost:  costFinalizer,
		run: balanced(func(b *balancing) {
			s := b.newService("a")
			if err := b.remove(b.ctx, s); err != nil {
				b.failf("%s = %v before any load balancer was created; want nil", b.call("EnsureLoadBalancerDeleted", s, nil), err)
			}
		}),
	},
	{
		ID: "loadbalancers/delete-none-writes", Level: Extended, Needs: needs(needMeter), Source: sourceDelete,
		Title: "The deletion of a load balancer that was never created changes nothing in the cloud",
		Cost:  "Calls count against the quota of the account.",
		run: balanced(func(b *balancing) {
			s := b.newService("a")
			if n := b.counted(func() { b.deleted(s) }).Writes; n > 0 {
				b.failf("%s made %d calls that change the cloud, and there was no load balancer; want none", b.call("EnsureLoadBalancerDeleted", s, nil), n)
			}
		}),
	},
	{
		ID: "loadbalancers/delete", Level: Core, Needs: needs(needMachines, needInventory),
		Source: "LoadBalancer.EnsureLoadBalancerDeleted: load balancers have multiple underlying components, some of which may still be there",
		Title:  "The deletion leaves nothing behind, of any kind",
		Cost:   costLeak,
		run: balanced(func(b *balancing) {
			s := b.newService("a")
			s.Spec.Ports = append(s.Spec.Ports, port("https", corev1.ProtocolTCP, 443, 30443))
			b.ensured(s, b.nodes(2))
			b.deleted(s)
			b.nothingLeft("after " + b.call("EnsureLoadBalancerDeleted", s, nil) + " = nil")
		}),
	},
	{
		ID: "loadbalancers/delete-twice", Level: Core, Needs: needs(needMachines), Source: sourceDelete,
		Title: "A second deletion succeeds",
		Cost:  costFinalizer,
		run: balanced(func(b *balancing) {
			s, _, _ := b.served(1)
			b.deleted(s)
			b.deleted(s)
		}),
	},
	{
		ID: "loadbalancers/delete-pending", Level: Core, Needs: needs(needMachines, needInventory, needHolder), Source: sourceDelete,
		Title: "A load balancer that is not ready yet can be deleted",
		Cost:  costLeak,
		run: balanced(func(b *balancing) {
			s, nodes := b.newService("a"), b.nodes(1)
			release := b.hold(s)
			_, _ = b.ensureHeld(s, nodes)  // another check judges the answer
			if b.remove(b.ctx, s) != nil { // Some clouds delete a load balancer only once it is ready.
				release()
				b.deleted(s)
			}
			b.gone[s.UID] = true
			release()
			b.nothingLeft("after " + b.call("EnsureLoadBalancerDeleted", s, nil) + " = nil, for a load balancer that the cloud was still making")
		}),
	},
	{
		ID: "loadbalancers/elsewhere", Level: Core, Needs: needs(needMachines),
		Title:  "ImplementedElsewhere can be found with errors.Is, and a deletion does not return it",
		Source: "LoadBalancer: ImplementedElsewhere is returned by Ensure and Update, and never by EnsureLoadBalancerDeleted",
		Cost:   costFinalizer,
		run: balanced(func(b *balancing) {
			s, nodes := b.newService("a"), b.nodes(1)
			text := cloudprovider.ImplementedElsewhere.Error()
			_, err := b.tried(s, nodes)
			if err != nil && strings.Contains(err.Error(), text) && !errors.Is(err, cloudprovider.ImplementedElsewhere) {
				b.failf("%s = the error %q; want one that wraps cloudprovider.ImplementedElsewhere", b.call("EnsureLoadBalancer", s, nodes), err)
			}
			s.Spec.Type = corev1.ServiceTypeClusterIP
			b.deleted(s)
		}),
	},
}

// sameStatus calls EnsureLoadBalancer, and requires the same status as before.
func (b *balancing) sameStatus(when string, s *corev1.Service, nodes []*corev1.Node, before *corev1.LoadBalancerStatus) {
	if after := b.ensured(s, nodes); !slices.Equal(ingress(before), ingress(after)) {
		b.failf("%s = %s, and %s %s; want the same status", b.call("EnsureLoadBalancer", s, nodes), answered(before, nil), answered(after, nil), when)
	}
}

// hold keeps new load balancers from becoming ready. The hold lasts until the returned
// function is called or the check ends. After the check, the load balancer of the Service
// is deleted: this is registered first so that it runs last, because some clouds do not
// delete a load balancer that is not ready.
func (b *balancing) hold(s *corev1.Service) (release func()) {
	b.keep(s)
	release, err := as[Holder](b.trial).HoldLoadBalancers(b.ctx)
	b.must("keep load balancers from becoming ready", err)
	return b.undone("let load balancers become ready", release)
}

// ensureHeld calls EnsureLoadBalancer while the load balancer cannot become ready.
func (b *balancing) ensureHeld(s *corev1.Service, nodes []*corev1.Node) (status *corev1.LoadBalancerStatus, err error) {
	b.inTime(b.call("EnsureLoadBalancer", s, nodes), "while the cloud was making the load balancer; want an api.RetryError", func(ctx context.Context) {
		status, err = b.ensure(ctx, s, nodes)
	})
	return status, err
}
