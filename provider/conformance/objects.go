package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// machine creates a machine and terminates it after the check. The machine's name ends
// with the role. The world may lend a machine instead.
func (t *trial) machine(role string) Machine { return t.machineNamed(t.name(role)) }

func (t *trial) machineNamed(name string) Machine {
	machines, ok := t.world.(Machines)
	if !ok {
		t.notRunf("needs %s", NeedMachines)
	}
	entry := Entry{Kind: KindMachine, Name: name}
	t.begin(&entry)
	m, err := machines.CreateMachine(t.ctx, name)
	if m.Borrowed || errors.Is(err, ErrCannot) {
		t.must("ledger", t.ended(entry))
	} else if err != nil {
		t.cleanup("look for machine "+name+", whose creation failed", func(ctx context.Context) error { return t.terminateNamed(ctx, machines, entry) })
	}
	t.must("create machine "+name, err)
	if m.Borrowed {
		m.ProviderID = t.metadata(named(m)).ProviderID
		return m
	}
	if m.Name != name {
		t.failf("world: a machine was asked for by the name %s and is called %s", name, m.Name)
	}
	entry.ID, entry.ProviderID = m.ID, m.ProviderID
	t.begin(&entry)
	t.terminateAfterwards(m, entry)
	if m.ProviderID == "" {
		t.eventually(func() error { return t.present(named(m)) })
		m.ProviderID = t.metadata(named(m)).ProviderID
		entry.ProviderID = m.ProviderID
		t.begin(&entry)
	}
	return m
}

// terminateNamed terminates the machines with the name of the entry. If the world cannot
// search by name, or finds no machine yet, terminateNamed leaves the entry in the ledger.
func (t *trial) terminateNamed(ctx context.Context, machines Machines, entry Entry) error {
	finder, ok := t.world.(Finder)
	if !ok {
		return nil
	}
	found, err := finder.FindMachine(ctx, entry.Name)
	found = slices.DeleteFunc(found, func(m Machine) bool { return m.Name != entry.Name })
	for _, m := range found {
		err = errors.Join(err, machines.TerminateMachine(ctx, m))
	}
	if err != nil || len(found) == 0 {
		return err
	}
	return t.ended(entry)
}

// terminateAfterwards makes the cleanup terminate the machine, unless it is borrowed.
func (t *trial) terminateAfterwards(m Machine, entry Entry) {
	if m.Borrowed {
		return
	}
	t.cleanup("terminate machine "+m.Name, func(ctx context.Context) error {
		if err := t.world.(Machines).TerminateMachine(ctx, m); err != nil { //nolint:forcetypeassert // this world has created the machine
			return err
		}
		return t.ended(entry)
	})
}

// terminate terminates the machine. If the machine is borrowed, the check ends as not
// run.
func (t *trial) terminate(m Machine) {
	if m.Borrowed {
		t.notRunf("needs a machine that the suite may terminate")
	}
	t.must("terminate machine "+m.Name, t.world.(Machines).TerminateMachine(t.ctx, m)) //nolint:forcetypeassert // this world has created the machine
}

// begin writes an entry into the ledger. It is called before the creation, when the
// entry has no ID, and again once the ID is known.
func (t *trial) begin(entry *Entry) {
	entry.Check, entry.Cluster = t.check.ID, t.cluster
	if ledger := t.suite.options.Ledger; ledger != nil {
		if err := ledger.Begin(*entry); err != nil {
			t.failf("ledger: %v; nothing was created", err)
		}
	}
}

// ended records in the ledger that a thing was removed, or that it was never created.
func (t *trial) ended(entry Entry) error {
	if ledger := t.suite.options.Ledger; ledger != nil {
		return ledger.End(entry)
	}
	return nil
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
