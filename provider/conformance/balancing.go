package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// balancing has the helpers of all checks of load balancers.
type balancing struct {
	*trial

	cluster string
	before  []string           // IDs of resources that were in the cluster before the check
	gone    map[types.UID]bool // Services whose load balancers were deleted
	known   map[string]string  // provider IDs of nodes, by the world's IDs of their machines
}

// balanced turns a function that works with load balancers into a check.
func balanced(f func(*balancing)) func(*trial) {
	return func(t *trial) {
		t.loadBalancer()
		f((&balancing{trial: t, gone: map[types.UID]bool{}, known: map[string]string{}}).in(t.cluster))
	}
}

// in returns the helpers for the same check in another cluster.
func (b *balancing) in(cluster string) *balancing {
	other := &balancing{trial: b.trial, cluster: cluster, gone: b.gone, known: b.known}
	for _, r := range other.resources() {
		other.before = append(other.before, r.ID)
	}
	return other
}

// resources returns the resources that the world finds in the cluster. It returns
// nil if the world does not implement Inventory.
func (b *balancing) resources() []Resource {
	inventory, ok := b.world.(Inventory)
	if !ok {
		return nil
	}
	all, err := inventory.Leftovers(b.ctx, b.cluster)
	b.must("what is in cluster "+b.cluster, err)
	return all
}

// keep registers the load balancer of the Service for deletion after the check.
func (b *balancing) keep(s *corev1.Service) {
	_, kept := b.gone[s.UID]
	b.gone[s.UID] = false
	if kept {
		return
	}
	s = s.DeepCopy()
	b.cleanup("delete the load balancer of Service "+s.Name, func(ctx context.Context) error {
		if b.gone[s.UID] {
			return nil
		}
		return b.repeated(func() error { return b.remove(ctx, s) })
	})
}

// ensure calls EnsureLoadBalancer once.
func (b *balancing) ensure(ctx context.Context, s *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	return b.loadBalancer().EnsureLoadBalancer(ctx, b.cluster, s, nodes)
}

// update calls UpdateLoadBalancer once.
func (b *balancing) update(ctx context.Context, s *corev1.Service, nodes []*corev1.Node) error {
	return b.loadBalancer().UpdateLoadBalancer(ctx, b.cluster, s, nodes)
}

// remove calls EnsureLoadBalancerDeleted once.
func (b *balancing) remove(ctx context.Context, s *corev1.Service) error {
	return b.loadBalancer().EnsureLoadBalancerDeleted(ctx, b.cluster, s)
}

// get calls GetLoadBalancer once.
func (b *balancing) get(ctx context.Context, s *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	return b.loadBalancer().GetLoadBalancer(ctx, b.cluster, s)
}

// tried calls EnsureLoadBalancer, and repeats the call while the error asks for that.
func (b *balancing) tried(s *corev1.Service, nodes []*corev1.Node) (status *corev1.LoadBalancerStatus, err error) {
	b.keep(s)
	err = b.repeated(func() error {
		status, err = b.ensure(b.ctx, s, nodes)
		return err
	})
	return status, err
}

// ensured calls tried. The check fails if the load balancer does not become
// ready.
func (b *balancing) ensured(s *corev1.Service, nodes []*corev1.Node) *corev1.LoadBalancerStatus {
	status, err := b.tried(s, nodes)
	if errors.Is(err, cloudprovider.ImplementedElsewhere) {
		b.unsupportedf("the load balancers are implemented elsewhere")
	}
	if err != nil || status == nil {
		b.failf("%s = %s; want the status of the load balancer, or an api.RetryError while it is not ready", b.call("EnsureLoadBalancer", s, nodes), answered(status, err))
	}
	return status
}

// served returns a Service with a load balancer, its n nodes, and its status.
func (b *balancing) served(n int) (*corev1.Service, []*corev1.Node, *corev1.LoadBalancerStatus) {
	s, nodes := b.newService("a"), b.nodes(n)
	return s, nodes, b.ensured(s, nodes)
}

// updated calls UpdateLoadBalancer, and repeats the call while the error asks for that.
func (b *balancing) updated(s *corev1.Service, nodes []*corev1.Node) {
	if err := b.repeated(func() error { return b.update(b.ctx, s, nodes) }); err != nil {
		b.failf("%s = %v; want nil", b.call("UpdateLoadBalancer", s, nodes), err)
	}
}

// deleted calls EnsureLoadBalancerDeleted, and repeats the call while the error asks
// for that.
func (b *balancing) deleted(s *corev1.Service) {
	if err := b.repeated(func() error { return b.remove(b.ctx, s) }); err != nil {
		b.failf("%s = %v; want nil", b.call("EnsureLoadBalancerDeleted", s, nil), err)
	}
	b.gone[s.UID] = true
}

// nodes returns the Nodes of n new machines.
func (b *balancing) nodes(n int) []*corev1.Node {
	all := make([]*corev1.Node, n)
	for i, m := range b.members(roles(n)...) {
		b.known[m.ID] = m.ProviderID
		all[i] = joined(m)
	}
	return all
}

// all returns the load balancers of the cluster.
func (b *balancing) all() []LoadBalancer {
	all, err := as[Viewer](b.trial).LoadBalancers(b.ctx, b.cluster)
	b.must("load balancers of cluster "+b.cluster, err)
	return all
}

// made returns the load balancers that the check has made in the cluster.
func (b *balancing) made() []LoadBalancer {
	all := slices.DeleteFunc(b.all(), func(l LoadBalancer) bool { return slices.Contains(b.before, l.ID) })
	for n := range all {
		all[n].Backends = b.byProviderID(all[n].Backends)
	}
	return all
}

// byProviderID returns the backends with provider IDs. Some worlds do not know the
// provider IDs, and name backends by their own machine IDs.
func (b *balancing) byProviderID(backends []string) []string {
	var all []string
	for _, backend := range backends {
		all = append(all, cmp.Or(b.known[backend], backend))
	}
	return all
}

// only waits until the check has exactly one load balancer in the cloud and f accepts
// it by returning nil.
func (b *balancing) only(when string, f func(LoadBalancer) error) (found LoadBalancer) {
	b.eventually(func() (err error) { found, err = b.single(when, f); return err })
	return found
}

// single is only without the wait. It returns what is wrong.
func (b *balancing) single(when string, f func(LoadBalancer) error) (LoadBalancer, error) {
	made := b.made()
	if len(made) != 1 {
		return LoadBalancer{}, fmt.Errorf("the cloud has %s %s; want exactly one", balancersText(made), when)
	}
	if f != nil {
		if err := f(made[0]); err != nil {
			return made[0], fmt.Errorf("load balancer %s: %w %s", made[0].Name, err, when)
		}
	}
	return made[0], nil
}

// backends requires that the backends agree with these nodes: sameSet requires exactly
// them, and contains requires at least them.
func (b *balancing) backends(when string, nodes []*corev1.Node, agree func(is, wanted []string) bool) {
	b.only(when, func(l LoadBalancer) error {
		if !agree(l.Backends, providerIDs(nodes)) {
			return fmt.Errorf("has the backends %v and not %v", l.Backends, providerIDs(nodes))
		}
		return nil
	})
}

func providerIDs(nodes []*corev1.Node) []string {
	var all []string
	for _, node := range nodes {
		all = append(all, node.Spec.ProviderID)
	}
	return all
}

// sameSet reports whether two lists have the same elements, in any order.
func sameSet[T comparable](a, b []T) bool {
	return len(a) == len(b) && contains(a, b) && contains(b, a)
}

// contains reports whether the first list has all elements of the second.
func contains[T comparable](all, wanted []T) bool {
	return !slices.ContainsFunc(wanted, func(x T) bool { return !slices.Contains(all, x) })
}

// nothingLeft waits until all resources that the check has made are gone.
func (b *balancing) nothingLeft(when string) {
	b.eventually(func() error {
		left := slices.DeleteFunc(b.resources(), func(r Resource) bool { return slices.Contains(b.before, r.ID) })
		if len(left) > 0 {
			return fmt.Errorf("the cloud still has %s %s; want nothing left", resourcesText(left), when)
		}
		return nil
	})
}

// call formats a call for a failure message. If nodes is nil, the text has no nodes.
func (b *balancing) call(method string, s *corev1.Service, nodes []*corev1.Node) string {
	text := fmt.Sprintf("%s(cluster %q, %s", method, b.cluster, showService(s))
	if nodes != nil {
		text += ", " + showNodes(nodes)
	}
	return text + ")"
}

func showService(s *corev1.Service) string {
	ports := joinedTexts(s.Spec.Ports, func(p corev1.ServicePort) string {
		return fmt.Sprintf("%s %d to node port %d", p.Protocol, p.Port, p.NodePort)
	})
	return fmt.Sprintf("Service %s/%s with UID %s, ports [%s]", s.Namespace, s.Name, s.UID, ports)
}

// answered formats a result of EnsureLoadBalancer for a failure message.
func answered(status *corev1.LoadBalancerStatus, err error) string {
	return fmt.Sprintf("%s, %v", showStatus(status), shown(err))
}

func showStatus(status *corev1.LoadBalancerStatus) string {
	if status == nil {
		return "nil"
	}
	return fmt.Sprintf("addresses %v", ingress(status))
}

// ingress returns the addresses and host names of a status, in order.
func ingress(status *corev1.LoadBalancerStatus) []string {
	all := []string{}
	if status == nil {
		return all
	}
	for _, i := range status.Ingress {
		for _, address := range []string{i.IP, i.Hostname} {
			if address != "" {
				all = append(all, address)
			}
		}
	}
	slices.Sort(all)
	return all
}

func balancersText(all []LoadBalancer) string {
	return fmt.Sprintf("%d load balancers [%s]", len(all), joinedTexts(all, func(l LoadBalancer) string { return fmt.Sprintf("%s (%s)", l.ID, l.Name) }))
}

func resourcesText(all []Resource) string {
	return joinedTexts(all, func(r Resource) string { return fmt.Sprintf("%s %s (%s)", r.Kind, r.ID, r.Name) })
}
