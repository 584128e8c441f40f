package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// labelFault on an instance says what this provider does wrong when it is
// asked about it, for as long as the label is there.
const labelFault = "provider-fault"

// faulty does wrong what the instance's label says.
type faulty struct {
	cloudprovider.InstancesV2

	operator *simulator.Client
	memory   *memory
}

// InstanceMetadata implements cloudprovider.InstancesV2.
func (f faulty) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	switch f.of(ctx, node.Name) {
	case "nil":
		return nil, nil //nolint:nilnil // that is the fault
	case "panic":
		panic("a bug of the provider")
	case "deaf":
		f.hang(node.Name) //nolint:contextcheck // that is the fault
	}
	m, err := f.InstancesV2.InstanceMetadata(ctx, node)
	if m != nil {
		delete(m.AdditionalLabels, labelFault)
	}
	return m, err
}

// of is the fault of the instance with that name.
func (f faulty) of(ctx context.Context, node string) string {
	found, err := f.operator.FindInstances(ctx, simulator.InstanceQuery{Names: []string{node}})
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[0].Labels[labelFault]
}

// hang does not care whether anybody still waits: it has no context.
func (f faulty) hang(node string) {
	const look = 200 * time.Millisecond
	klog.InfoS("Deaf from now on", "node", node)
	for tick := time.NewTicker(look); f.of(context.Background(), node) == "deaf"; { //nolint:forbidigo // that is the fault
		<-tick.C
	}
}
