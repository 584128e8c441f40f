package conformance

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// machine creates a machine and terminates it after the check. The machine's name ends
// with the role.
func (t *trial) machine(role string) Machine { return t.machines(role)[0] }

// machines creates a machine for each role. It asks the provider only when it has created
// all of them, because a provider with a cache may find each new machine late.
func (t *trial) machines(roles ...string) []Machine {
	all := make([]Machine, len(roles))
	for n, role := range roles {
		name := t.name(role)
		m, err := as[Machines](t).CreateMachine(t.ctx, name)
		t.must("create machine "+name, err)
		t.terminateAfterwards(m)
		if m.Name != name {
			t.failf("world: a machine was asked for by the name %s and is called %s", name, m.Name)
		}
		all[n] = m
	}
	for n := range all {
		if m := &all[n]; m.ProviderID == "" {
			m.ProviderID = t.awaitMetadata(named(*m)).ProviderID
		}
	}
	return all
}

// members creates machines whose Nodes have joined the cluster: they have addresses. If the
// world does not know them, the provider is asked, as the daemon does.
func (t *trial) members(roles ...string) []Machine {
	all := t.machines(roles...)
	_, offered := t.provider.InstancesV2()
	for n := range all {
		if m := &all[n]; offered && len(m.Addresses) == 0 {
			m.Addresses = t.metadataOf(*m).NodeAddresses
		}
	}
	return all
}

func (t *trial) member() Machine { return t.members("a")[0] }

// roles returns n roles for machines.
func roles(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("m%02d", i)
	}
	return all
}

// terminateAfterwards makes the cleanup terminate the machine.
func (t *trial) terminateAfterwards(m Machine) {
	t.cleanup("terminate machine "+m.Name, func(ctx context.Context) error { return as[Machines](t).TerminateMachine(ctx, m) })
}

// terminate terminates the machine.
func (t *trial) terminate(m Machine) {
	t.must("terminate machine "+m.Name, as[Machines](t).TerminateMachine(t.ctx, m))
}

// foreign lets the world create a resource as a person would, and deletes it after the
// check. The returned function fails the check if the calls that it is given have changed
// the resource.
func (t *trial) foreign(kind ResourceKind, what string) (unchanged func(calls string)) {
	foreigner := as[Foreigner](t)
	made, err := foreigner.CreateForeign(t.ctx, kind, what)
	t.must("create a "+string(kind)+" by hand", err)
	t.cleanup("delete the "+string(kind)+" that was made by hand", func(ctx context.Context) error { return foreigner.DeleteForeign(ctx, made) })
	return func(calls string) {
		exists, err := foreigner.ForeignExists(t.ctx, made)
		t.must("look for the "+string(kind)+" that was made by hand", err)
		if !exists {
			t.failf("%s: this has changed or deleted %s %s (%s), which was made by hand; want it kept, with an error or without", calls, kind, made.ID, what)
		}
	}
}

// address lets the world reserve an address, and releases it after the check.
func (t *trial) address(name string) Address {
	made, err := as[Reserver](t).ReserveAddress(t.ctx, name)
	t.must("reserve an address", err)
	t.cleanup("release address "+made.IP, func(ctx context.Context) error { return as[Reserver](t).ReleaseAddress(ctx, made) })
	return made
}

// undone makes the function run at the end of the check, unless it has run before. If the
// suite has abandoned the check, it runs at once.
func (t *trial) undone(what string, undo func()) (once func()) {
	once = sync.OnceFunc(undo)
	registered := false
	defer func() {
		if !registered {
			once()
		}
	}()
	t.cleanup(what, func(context.Context) error { once(); return nil })
	registered = true
	return once
}

// setFault sets a fault. The fault stays until the returned function is called or the check
// ends.
func (t *trial) setFault(f Fault) (restore func(), err error) {
	restore, err = as[Faulter](t).SetFault(t.ctx, f)
	if err != nil {
		return nil, err
	}
	return t.undone(fmt.Sprintf("clear fault %s", f.Kind), restore), nil
}

// fault calls setFault, and ends the check after an error.
func (t *trial) fault(f Fault) (restore func()) {
	restore, err := t.setFault(f)
	t.must(fmt.Sprintf("set fault %s", f.Kind), err)
	return restore
}

// counted calls f and returns the number of calls to the cloud in the meantime.
func (t *trial) counted(f func()) Calls {
	calls := func() Calls {
		c, err := as[Meter](t).Calls(t.ctx)
		t.must("count calls", err)
		return c
	}
	before := calls()
	f()
	after := calls()
	return Calls{after.Reads - before.Reads, after.Writes - before.Writes, after.Refused - before.Refused}
}

// named returns the machine's Node as it is before it gets a provider ID.
func named(m Machine) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, Labels: map[string]string{corev1.LabelHostname: m.Name}},
		Status: corev1.NodeStatus{
			Addresses: m.Addresses,
			NodeInfo:  corev1.NodeSystemInfo{SystemUUID: m.SystemUUID},
		},
	}
}

// joined returns the machine's Node with its provider ID.
func joined(m Machine) *corev1.Node {
	node := named(m)
	node.Spec.ProviderID = m.ProviderID
	return node
}

// both returns the machine's Node with its provider ID, and as it is before that.
func both(m Machine) []*corev1.Node { return []*corev1.Node{joined(m), named(m)} }

// identified returns a Node with the name and the provider ID.
func identified(name, providerID string) *corev1.Node {
	return joined(Machine{Name: name, ProviderID: providerID})
}

// copies returns deep copies.
func copies(nodes []*corev1.Node) []*corev1.Node {
	all := make([]*corev1.Node, len(nodes))
	for n, node := range nodes {
		all[n] = node.DeepCopy()
	}
	return all
}

// newService returns a Service of type LoadBalancer with a TCP port.
func (t *trial) newService(role string) *corev1.Service {
	policy := corev1.IPFamilyPolicySingleStack
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: t.name(role), Namespace: "default", UID: uuid.NewUUID()},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{
				Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(8080), NodePort: 30080,
			}},
			ClusterIP:             "10.96.0.10",
			ClusterIPs:            []string{"10.96.0.10"},
			IPFamilies:            []corev1.IPFamily{corev1.IPv4Protocol},
			IPFamilyPolicy:        &policy,
			SessionAffinity:       corev1.ServiceAffinityNone,
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster,
		},
	}
}

// port returns a port of a Service.
func port(name string, protocol corev1.Protocol, number, nodePort int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Protocol: protocol, Port: number, NodePort: nodePort}
}
