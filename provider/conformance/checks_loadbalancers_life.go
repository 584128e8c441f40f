package conformance

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// lifeChecks returns the checks of the creation and deletion of a load balancer.
func lifeChecks() []Check { return slices.Concat(creationChecks(), deletionChecks()) }

func creationChecks() []Check {
	return []Check{
		{
			ID: "loadbalancers/name", Level: Core, Source: sourceName, run: balanced(lbName),
			Title: "The name stays the same, and two Services have different names",
			Cost:  "After a restart of the daemon the load balancer is not found, or two Services share one.",
		},
		{
			ID: "loadbalancers/update-none", Level: Core, Needs: []Need{NeedMachines, NeedInventory}, Source: sourceUpdate, run: balanced(lbUpdateNone),
			Title: "An update of nodes creates no load balancer", Cost: costLeak,
		},
		{
			ID: "loadbalancers/create", Level: Core, Needs: []Need{NeedMachines, NeedViewer}, Source: sourceEnsure, run: balanced(lbCreate),
			Title: "A Service gets one load balancer with an address", Cost: "The Service cannot be reached, or the account pays for two load balancers.",
		},
		{
			ID: "loadbalancers/again", Level: Core, Needs: []Need{NeedMachines}, Source: sourceEnsure, run: balanced(lbAgain),
			Title: "A second call returns the same status", Cost: "The address is removed from the status of the Service, and then from DNS.",
		},
		{
			ID: "loadbalancers/again-writes", Level: Extended, Needs: []Need{NeedMachines, NeedMeter}, Source: sourceEnsure, run: balanced(lbAgainWrites),
			Title: "A second call changes nothing in the cloud", Cost: "A restart of the daemon changes each load balancer, and the quota of the account is used up.",
		},
		{
			ID: "loadbalancers/get-after", Level: Core, Needs: []Need{NeedMachines}, Source: sourceGet, run: balanced(lbGetAfter),
			Title: "A load balancer that was created exists, with its address", Cost: "A Service that is no longer of type LoadBalancer keeps its load balancer.",
		},
		{
			ID: "loadbalancers/restart", Level: Core, Needs: []Need{NeedMachines, NeedViewer}, Source: sourceEnsure, run: balanced(lbRestart),
			Title: "A restarted provider finds its load balancer", Cost: costSecond,
		},
		{
			ID: "loadbalancers/arguments", Level: Core, Needs: []Need{NeedMachines}, Source: sourceReadOnly, run: balanced(lbArguments),
			Title: "The Service and the Nodes of a call are not changed", Cost: "The daemon's own copy of the object changes, and decisions about it are wrong.",
		},
		{
			ID: "loadbalancers/not-blocking", Level: Extended, Needs: []Need{NeedMachines, NeedHolder}, Source: sourceRetry, run: balanced(lbNotBlocking),
			Title: "A call does not wait until a load balancer is ready", Cost: "Other Services wait for minutes.",
		},
		{
			ID: "loadbalancers/new-uid", Level: Core, Needs: []Need{NeedMachines, NeedInventory}, Source: sourceEnsure, run: balanced(lbNewUID),
			Title: "A Service that was deleted and created again gets a load balancer", Cost: "A Service that was deleted and created again never works, or its old load balancer is left behind.",
		},
	}
}

func deletionChecks() []Check {
	return []Check{
		{
			ID: "loadbalancers/get-none", Level: Core, Source: sourceGet, run: balanced(lbGetNone),
			Title: "A load balancer that was never created does not exist", Cost: "Nobody notices that the load balancer of a Service is gone.",
		},
		{
			ID: "loadbalancers/delete-none", Level: Core, Source: sourceDelete, run: balanced(lbDeleteNone),
			Title: "The deletion of a load balancer that was never created succeeds", Cost: costFinalizer,
		},
		{
			ID: "loadbalancers/delete-none-writes", Level: Extended, Needs: []Need{NeedMeter}, Source: sourceDelete, run: balanced(lbDeleteNoneWrites),
			Title: "The deletion of a load balancer that was never created changes nothing in the cloud", Cost: "Calls count against the quota of the account.",
		},
		{
			ID: "loadbalancers/delete", Level: Core, Needs: []Need{NeedMachines, NeedInventory}, Source: sourceParts, run: balanced(lbDelete),
			Title: "The deletion leaves nothing behind, of any kind", Cost: costLeak,
		},
		{
			ID: "loadbalancers/delete-twice", Level: Core, Needs: []Need{NeedMachines}, Source: sourceDelete, run: balanced(lbDeleteTwice),
			Title: "A second deletion succeeds", Cost: costFinalizer,
		},
		{
			ID: "loadbalancers/delete-pending", Level: Core, Needs: []Need{NeedMachines, NeedInventory, NeedHolder}, Source: sourceDelete, run: balanced(lbDeletePending),
			Title: "A load balancer that is not ready yet can be deleted", Cost: costLeak,
		},
		{
			ID: "loadbalancers/elsewhere", Level: Core, Needs: []Need{NeedMachines}, run: balanced(lbElsewhere),
			Source: "LoadBalancer: ImplementedElsewhere is returned by Ensure and Update, and never by EnsureLoadBalancerDeleted",
			Title:  "ImplementedElsewhere can be found with errors.Is, and a deletion does not return it", Cost: costFinalizer,
		},
	}
}

// lbName accepts the same name for two clusters, because UIDs of Services are unique.
func lbName(b *balancing) {
	ask := func(cluster string, s *corev1.Service) string {
		return b.loadBalancer().GetLoadBalancerName(b.ctx, cluster, s.DeepCopy())
	}
	s := b.newService("a")
	call := b.call("GetLoadBalancerName", s, nil)
	name := ask(b.cluster, s)
	if name == "" {
		b.failf("%s = \"\"; want a name", call)
	}
	if again := ask(b.cluster, s); again != name {
		b.failf("%s = %q, and %q when it is called again; want the same name", call, name, again)
	}
	other, elsewhere := b.newService("b"), s.DeepCopy()
	elsewhere.UID = other.UID
	if same := ask(b.cluster, other); same == name {
		b.failf("%s = %q, and for %s, too; want two names", call, name, showService(other))
	}
	if same := ask(b.cluster+"-2", elsewhere); same == name {
		b.failf("%s = %q, and for cluster %q and the UID %s, too; want two names", call, name, b.cluster+"-2", elsewhere.UID)
	}
	b.restart()
	if again := ask(b.cluster, s); again != name {
		b.failf("%s = %q, and %q after a restart of the provider; want the same name", call, name, again)
	}
}

func lbGetNone(b *balancing) {
	s := b.newService("a")
	status, exists, err := b.loadBalancer().GetLoadBalancer(b.ctx, b.cluster, s)
	if exists || err != nil {
		b.failf("%s = %s, %v, %v before any load balancer was created; want nil, false, nil", b.call("GetLoadBalancer", s, nil), showStatus(status), exists, shown(err))
	}
}

func lbDeleteNone(b *balancing) {
	s := b.newService("a")
	if err := b.remove(b.ctx, s); err != nil {
		b.failf("%s = %v before any load balancer was created; want nil", b.call("EnsureLoadBalancerDeleted", s, nil), err)
	}
}

func lbDeleteNoneWrites(b *balancing) {
	s := b.newService("a")
	if n := b.writes(func() { b.deleted(s) }); n > 0 {
		b.failf("%s made %d calls that change the cloud, and there was no load balancer; want none", b.call("EnsureLoadBalancerDeleted", s, nil), n)
	}
}

func lbUpdateNone(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(1)
	b.keep(s)
	err := b.update(b.ctx, s, nodes) // Both an error and nil are right.
	b.nothingLeft("after " + b.call("UpdateLoadBalancer", s, nodes) + " = " + shown(err).Error() + " without a load balancer")
}

func lbCreate(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(1)
	status := b.ensured(s, nodes)
	if len(ingress(status)) == 0 {
		b.failf("%s = %s; want an address, or an api.RetryError while there is none", b.call("EnsureLoadBalancer", s, nodes), answered(status, nil))
	}
	b.only("after "+b.call("EnsureLoadBalancer", s, nodes)+" = nil", nil)
}

func lbAgain(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(1)
	first := b.ensured(s, nodes)
	second := b.ensured(s, nodes)
	if !slices.Equal(ingress(first), ingress(second)) {
		b.failf("%s = %s the first time and %s the second; want the same status", b.call("EnsureLoadBalancer", s, nodes), answered(first, nil), answered(second, nil))
	}
}

func lbAgainWrites(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(1)
	b.ensured(s, nodes)
	n := b.writes(func() { b.ensured(s, nodes) })
	b.measure("ensureWrites", float64(n))
	if n > 0 {
		b.failf("%s made %d calls that change the cloud, although nothing had changed; want none", b.call("EnsureLoadBalancer", s, nodes), n)
	}
}

func lbGetAfter(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(1)
	wanted := b.ensured(s, nodes)
	b.eventually(func() error {
		status, exists, err := b.loadBalancer().GetLoadBalancer(b.ctx, b.cluster, s)
		if exists && err == nil && slices.Equal(ingress(status), ingress(wanted)) {
			return nil
		}
		return fmt.Errorf("%s = %s, %v, %w after EnsureLoadBalancer = %s; want the same status, true, nil", b.call("GetLoadBalancer", s, nil), showStatus(status), exists, shown(err), showStatus(wanted))
	})
}

func lbRestart(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(1)
	before := b.ensured(s, nodes)
	b.restart()
	after := b.ensured(s, nodes)
	b.only("after a restart of the provider and "+b.call("EnsureLoadBalancer", s, nodes)+" = nil", nil)
	if !slices.Equal(ingress(before), ingress(after)) {
		b.failf("%s = %s, and %s after a restart of the provider; want the same", b.call("EnsureLoadBalancer", s, nodes), answered(before, nil), answered(after, nil))
	}
}

func lbArguments(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(2)
	s.Annotations = map[string]string{"example.com/kept": "yes"}
	before, nodesBefore := s.DeepCopy(), copies(nodes)
	unchanged := func(method string) {
		if !reflect.DeepEqual(s, before) {
			b.failf("%s changed the Service that it was given: it was %+v and is %+v", method, *before, *s)
		}
		for n := range nodes {
			if !reflect.DeepEqual(nodes[n], nodesBefore[n]) {
				b.failf("%s changed a Node that it was given: it was %+v and is %+v", method, *nodesBefore[n], *nodes[n])
			}
		}
	}
	b.ensured(s, nodes)
	unchanged("EnsureLoadBalancer")
	b.updated(s, nodes)
	unchanged("UpdateLoadBalancer")
	_, _, _ = b.loadBalancer().GetLoadBalancer(b.ctx, b.cluster, s) // another check judges the answer
	unchanged("GetLoadBalancer")
	b.loadBalancer().GetLoadBalancerName(b.ctx, b.cluster, s)
	unchanged("GetLoadBalancerName")
	b.deleted(s)
	unchanged("EnsureLoadBalancerDeleted")
}

func lbDelete(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(2)
	s.Spec.Ports = append(s.Spec.Ports, port("https", corev1.ProtocolTCP, 443, 30443))
	b.ensured(s, nodes)
	b.deleted(s)
	b.nothingLeft("after " + b.call("EnsureLoadBalancerDeleted", s, nil) + " = nil")
}

func lbDeleteTwice(b *balancing) {
	s := b.newService("a")
	b.ensured(s, b.nodes(1))
	b.deleted(s)
	if err := b.repeated(func() error { return b.remove(b.ctx, s) }); err != nil {
		b.failf("%s = nil the first time and %v the second; want nil", b.call("EnsureLoadBalancerDeleted", s, nil), err)
	}
}

func lbNotBlocking(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(1)
	defer b.hold(s)()
	status, err := b.ensureHeld(s, nodes)
	if err == nil && len(ingress(status)) == 0 || err != nil && !b.asksAgain(err) {
		b.failf("%s = %s, while the cloud was making the load balancer; want an api.RetryError that errors.As finds", b.call("EnsureLoadBalancer", s, nodes), answered(status, err))
	}
}

func lbDeletePending(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(1)
	release := b.hold(s)
	defer release()
	_, _ = b.ensureHeld(s, nodes)  // another check judges the answer
	if b.remove(b.ctx, s) != nil { // Some clouds delete a load balancer only once it is ready.
		release()
		b.deleted(s)
	}
	b.gone[s.UID] = true
	release()
	b.nothingLeft("after " + b.call("EnsureLoadBalancerDeleted", s, nil) + " = nil, for a load balancer that the cloud was still making")
}

// hold keeps new load balancers from becoming ready. The hold lasts until the returned
// function is called or the check ends. After the check, the load balancer of the Service
// is deleted.
func (b *balancing) hold(s *corev1.Service) (release func()) {
	release, err := b.world.(Holder).HoldLoadBalancers(b.ctx)
	b.must("keep load balancers from becoming ready", err)
	release = sync.OnceFunc(release)
	listed := false
	defer func() {
		if !listed { // The check was abandoned in the meantime.
			release()
		}
	}()
	b.keep(s) // This is registered first so that it runs last, because some clouds do not delete a load balancer that is not ready.
	b.cleanup("let load balancers become ready", func(context.Context) error { release(); return nil })
	listed = true
	return release
}

// ensureHeld calls EnsureLoadBalancer while the load balancer cannot become ready.
func (b *balancing) ensureHeld(s *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	b.keep(s)
	var status *corev1.LoadBalancerStatus
	var err error
	b.inTime(b.call("EnsureLoadBalancer", s, nodes), "while the cloud was making the load balancer; want an api.RetryError", func(ctx context.Context) {
		status, err = b.ensure(ctx, s, nodes)
	})
	return status, err
}

func lbNewUID(b *balancing) {
	first, nodes := b.newService("a"), b.nodes(1)
	second := first.DeepCopy()
	second.UID = b.newService("b").UID
	b.ensured(first, nodes)
	b.ensured(second, nodes)
	b.deleted(second)
	b.deleted(first)
	b.nothingLeft("after a Service was created anew with the same name, and both load balancers were deleted")
}

func lbElsewhere(b *balancing) {
	s, nodes := b.newService("a"), b.nodes(1)
	text := cloudprovider.ImplementedElsewhere.Error()
	_, err := b.tried(s, nodes)
	if err != nil && strings.Contains(err.Error(), text) && !errors.Is(err, cloudprovider.ImplementedElsewhere) {
		b.failf("%s = the error %q; want one that wraps cloudprovider.ImplementedElsewhere", b.call("EnsureLoadBalancer", s, nodes), err)
	}
	changed := s.DeepCopy()
	changed.Spec.Type = corev1.ServiceTypeClusterIP
	b.deleted(changed)
}
