package main

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/internal/sleep"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// labelFault is a label of instances. While an instance has it, calls about the
// instance fail in the way that the value of the label names.
const labelFault = "provider-fault"

// switches reads the label labelFault of the instances.
type switches struct{ operator *simulator.Client }

// faulty fails in the way that the instance's label says.
type faulty struct {
	cloudprovider.InstancesV2
	switches

	memory *memory
}

// InstanceMetadata implements cloudprovider.InstancesV2.
func (f faulty) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	switch f.of(ctx, node.Name) {
	case "nil":
		return nil, nil //nolint:nilnil // that is the fault
	case "panic":
		panic("a bug of the provider")
	case "ignores-context":
		f.hang(ctx, node.Name)
	}
	m, err := f.InstancesV2.InstanceMetadata(ctx, node)
	if m != nil {
		delete(m.AdditionalLabels, labelFault)
	}
	return m, err
}

// of returns the fault of the instance with that name.
func (s switches) of(ctx context.Context, name string) string {
	found, err := s.operator.FindInstances(ctx, simulator.Query{Names: []string{name}})
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[0].Labels[labelFault]
}

// hang returns when the label is removed. It does not return when ctx ends:
// that is the fault.
func (s switches) hang(ctx context.Context, name string) {
	const look = 200 * time.Millisecond
	klog.InfoS("Ignores its context from now on", "name", name)
	ctx = context.WithoutCancel(ctx)
	for s.of(ctx, name) == "ignores-context" {
		sleep.For(ctx, look)
	}
}
