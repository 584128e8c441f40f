package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	"k8s.io/utils/ptr"

	"github.com/fairlead-k8s/fairlead/provider"
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

// newService returns a Service of this check.
func (b *balancing) newService(role string) *corev1.Service {
	s := b.service(b.name(role))
	s.Spec.ClusterIP, s.Spec.ClusterIPs = "10.96.0.10", []string{"10.96.0.10"}
	return s
}

// keep registers the load balancer of the Service for deletion after the check.
func (b *balancing) keep(s *corev1.Service) {
	if _, kept := b.gone[s.UID]; kept {
		b.gone[s.UID] = false
		return
	}
	b.gone[s.UID] = false
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

// repeated calls f, and repeats the call while the error asks for that, but not for
// longer than the target allows.
func (t *trial) repeated(f func() error) error {
	ctx, cancel := context.WithTimeout(t.ctx, t.suite.target.EventuallyWithin)
	defer cancel()
	for n, pause := 0, time.Millisecond; ; n, pause = n+1, min(2*pause, time.Second) {
		last := n > 0 && ctx.Err() != nil // Even on a slow machine, f gets a second call.
		err := f()
		if last || !t.asksAgain(err) {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// asksAgain reports whether an error means that the same call may succeed later.
func (t *trial) asksAgain(err error) bool {
	var retry *api.RetryError
	kind := t.kind(err)
	return errors.As(err, &retry) || kind == provider.Throttled || kind == provider.Conflict
}

// kind classifies an error as the daemon does, and returns its kind.
func (t *trial) kind(err error) provider.ErrorKind {
	if err == nil {
		return provider.Unclassified
	}
	return t.classify(err).Kind
}

// callLimit is the longest time for a call that must not wait for anything.
func (t *trial) callLimit() time.Duration {
	return max(5*time.Second, min(t.suite.target.EventuallyWithin, 10*time.Second))
}

// brief is the time limit for a call that the cloud does not answer.
const brief = 100 * time.Millisecond

// inTime calls f. If f does not return soon, inTime fails the check and ends the
// context of f.
func (t *trial) inTime(call, when string, f func(ctx context.Context)) {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer t.recovered(call)
		f(ctx)
	}()
	timer := time.NewTimer(t.callLimit())
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		t.failf("%s had not returned after %v, %s", call, t.callLimit(), when)
	}
}

// nodes returns the Nodes of n new machines.
func (b *balancing) nodes(n int) []*corev1.Node {
	all := make([]*corev1.Node, n)
	for i := range n {
		m := b.machine(fmt.Sprintf("node%d", i))
		b.known[m.ID] = m.ProviderID
		all[i] = joined(m)
	}
	return all
}

// made returns the load balancers that the check has made in the cluster.
func (b *balancing) made() []LoadBalancer {
	all, err := b.world.(Viewer).LoadBalancers(b.ctx, b.cluster) //nolint:forcetypeassert // the check says that it needs one
	b.must("load balancers of cluster "+b.cluster, err)
	all = slices.DeleteFunc(all, func(l LoadBalancer) bool { return slices.Contains(b.before, l.ID) })
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
func (b *balancing) only(when string, f func(LoadBalancer) error) LoadBalancer {
	var found LoadBalancer
	b.eventually(func() error {
		made := b.made()
		if len(made) != 1 {
			return fmt.Errorf("the cloud has %s %s; want exactly one", balancersText(made), when)
		}
		found = made[0]
		if f == nil {
			return nil
		}
		if err := f(found); err != nil {
			return fmt.Errorf("load balancer %s: %w %s", found.Name, err, when)
		}
		return nil
	})
	return found
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

// writes calls f. It returns how many calls have changed the cloud in the meantime.
func (t *trial) writes(f func()) int { return t.counted(f).Writes }

// port returns a port of a Service.
func port(name string, protocol corev1.Protocol, number, nodePort int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Protocol: protocol, Port: number, NodePort: nodePort}
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
	var ports []string
	for _, p := range s.Spec.Ports {
		ports = append(ports, fmt.Sprintf("%s %d to node port %d", p.Protocol, p.Port, p.NodePort))
	}
	texts := []string{fmt.Sprintf("Service %s/%s with UID %s", s.Namespace, s.Name, s.UID), "ports [" + strings.Join(ports, ", ") + "]"}
	for _, field := range []struct {
		name  string
		value any
		shown bool
	}{
		{"annotations", s.Annotations, len(s.Annotations) > 0},
		{"loadBalancerSourceRanges", s.Spec.LoadBalancerSourceRanges, len(s.Spec.LoadBalancerSourceRanges) > 0},
		{"sessionAffinity", s.Spec.SessionAffinity, s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP},
		{"externalTrafficPolicy Local, healthCheckNodePort", s.Spec.HealthCheckNodePort, s.Spec.HealthCheckNodePort != 0},
		{"ipFamilies", s.Spec.IPFamilies, !slices.Equal(s.Spec.IPFamilies, []corev1.IPFamily{corev1.IPv4Protocol})},
		{"ipFamilyPolicy", ptr.Deref(s.Spec.IPFamilyPolicy, ""), ptr.Deref(s.Spec.IPFamilyPolicy, "") == corev1.IPFamilyPolicyRequireDualStack},
		{"loadBalancerIP", s.Spec.LoadBalancerIP, s.Spec.LoadBalancerIP != ""},
		{"type", s.Spec.Type, s.Spec.Type != corev1.ServiceTypeLoadBalancer},
	} {
		if field.shown {
			texts = append(texts, fmt.Sprintf("%s %v", field.name, field.value))
		}
	}
	return strings.Join(texts, ", ")
}

func showNodes(nodes []*corev1.Node) string {
	if len(nodes) > 4 {
		return fmt.Sprintf("%d nodes", len(nodes))
	}
	all := make([]string, len(nodes))
	for n, node := range nodes {
		all[n] = show(node)
	}
	return "[" + strings.Join(all, ", ") + "]"
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
	names := make([]string, len(all))
	for n, l := range all {
		names[n] = fmt.Sprintf("%s (%s)", l.ID, l.Name)
	}
	return fmt.Sprintf("%d load balancers [%s]", len(all), strings.Join(names, ", "))
}

func resourcesText(all []Resource) string {
	texts := make([]string, len(all))
	for n, r := range all {
		texts[n] = fmt.Sprintf("%s %s (%s)", r.Kind, r.ID, r.Name)
	}
	return strings.Join(texts, ", ")
}

// copies returns deep copies.
func copies(nodes []*corev1.Node) []*corev1.Node {
	all := make([]*corev1.Node, len(nodes))
	for n, node := range nodes {
		all[n] = node.DeepCopy()
	}
	return all
}
