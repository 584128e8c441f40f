package conformance

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// machine creates a machine and terminates it after the check. The machine's name ends
// with the role.
func (t *trial) machine(role string) Machine { return t.machineNamed(t.name(role)) }

func (t *trial) machineNamed(name string) Machine {
	machines, ok := t.world.(Machines)
	if !ok {
		t.notRunf("needs %s", NeedMachines)
	}
	m, err := machines.CreateMachine(t.ctx, name)
	t.must("create machine "+name, err)
	t.terminateAfterwards(m)
	if m.Name != name {
		t.failf("world: a machine was asked for by the name %s and is called %s", name, m.Name)
	}
	if m.ProviderID == "" {
		t.eventually(func() error { return t.present(named(m)) })
		m.ProviderID = t.metadata(named(m)).ProviderID
	}
	return m
}

// terminateAfterwards makes the cleanup terminate the machine.
func (t *trial) terminateAfterwards(m Machine) {
	t.cleanup("terminate machine "+m.Name, func(ctx context.Context) error {
		return t.world.(Machines).TerminateMachine(ctx, m) //nolint:forcetypeassert // this world has created the machine
	})
}

// terminate terminates the machine.
func (t *trial) terminate(m Machine) {
	t.must("terminate machine "+m.Name, t.world.(Machines).TerminateMachine(t.ctx, m)) //nolint:forcetypeassert // this world has created the machine
}

// foreign lets the world create a resource as a person would, and deletes the
// resource after the check.
func (t *trial) foreign(foreigner Foreigner, kind ResourceKind, what string) Resource {
	made, err := foreigner.CreateForeign(t.ctx, kind, what)
	t.must("create a "+string(kind)+" by hand", err)
	t.cleanup("delete the "+string(kind)+" that was made by hand", func(ctx context.Context) error { return foreigner.DeleteForeign(ctx, made) })
	return made
}

// address lets the world reserve an address, and releases it after the check.
func (t *trial) address(reserver Reserver, name string) Address {
	made, err := reserver.ReserveAddress(t.ctx, name)
	t.must("reserve an address", err)
	t.cleanup("release address "+made.IP, func(ctx context.Context) error { return reserver.ReleaseAddress(ctx, made) })
	return made
}

// setFault sets a fault. The fault stays until the returned function is called.
func (t *trial) setFault(f Fault) (restore func(), err error) {
	return t.world.(Faulter).SetFault(t.ctx, f) //nolint:forcetypeassert // the check says that it needs one
}

// fault sets a fault. The fault stays until the returned function is called or the check
// ends.
func (t *trial) fault(f Fault) (restore func()) {
	restore, err := t.setFault(f)
	t.must(fmt.Sprintf("set fault %s", f.Kind), err)
	t.cleanup(fmt.Sprintf("clear fault %s", f.Kind), func(context.Context) error { restore(); return nil })
	return restore
}

// counted calls f and returns the number of calls to the cloud in the meantime.
func (t *trial) counted(f func()) Calls {
	meter := t.world.(Meter) //nolint:forcetypeassert // the check says that it needs one
	before, err := meter.Calls(t.ctx)
	t.must("count calls", err)
	f()
	after, err := meter.Calls(t.ctx)
	t.must("count calls", err)
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

// identified returns a Node with the name and the provider ID.
func identified(name, providerID string) *corev1.Node {
	return joined(Machine{Name: name, ProviderID: providerID})
}

// service returns a Service of type LoadBalancer with a TCP port. It applies the
// changes to that Service.
func (t *trial) service(role string, changes ...func(*corev1.Service)) *corev1.Service {
	policy := corev1.IPFamilyPolicySingleStack
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: role, Namespace: "default", UID: uuid.NewUUID()},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer,
			Ports: []corev1.ServicePort{{
				Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(8080), NodePort: 30080,
			}},
			IPFamilies:            []corev1.IPFamily{corev1.IPv4Protocol},
			IPFamilyPolicy:        &policy,
			SessionAffinity:       corev1.ServiceAffinityNone,
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster,
		},
	}
	for _, change := range changes {
		change(s)
	}
	return s
}

// show returns a Node's name and provider ID for the text of a failure.
func show(n *corev1.Node) string {
	if n.Spec.ProviderID == "" {
		return fmt.Sprintf("node %q without provider ID", n.Name)
	}
	return fmt.Sprintf("node %q with provider ID %q", n.Name, n.Spec.ProviderID)
}
