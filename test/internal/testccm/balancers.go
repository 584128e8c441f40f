package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// balancers fails for a Service in the way that the label labelFault names. The label is
// on an instance with the Service's name. That instance exists only to carry the label.
type balancers struct {
	cloudprovider.LoadBalancer
	switches
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer.
func (b balancers) EnsureLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	if b.of(ctx, service.Name) == "nil" {
		return nil, nil //nolint:nilnil // that is the fault
	}
	if err := b.fault(ctx, service); err != nil {
		return nil, err
	}
	return b.LoadBalancer.EnsureLoadBalancer(ctx, cluster, service, nodes)
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer.
func (b balancers) UpdateLoadBalancer(ctx context.Context, cluster string, service *corev1.Service, nodes []*corev1.Node) error {
	if err := b.fault(ctx, service); err != nil {
		return err
	}
	return b.LoadBalancer.UpdateLoadBalancer(ctx, cluster, service, nodes)
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (b balancers) EnsureLoadBalancerDeleted(ctx context.Context, cluster string, service *corev1.Service) error {
	if err := b.fault(ctx, service); err != nil {
		return err
	}
	return b.LoadBalancer.EnsureLoadBalancerDeleted(ctx, cluster, service)
}

// fault carries out the faults that all three methods have.
func (b balancers) fault(ctx context.Context, service *corev1.Service) error {
	switch b.of(ctx, service.Name) {
	case "elsewhere":
		return cloudprovider.ImplementedElsewhere
	case "elsewhere-wrapped":
		return fmt.Errorf("load balancer of %s: %w", service.Name, cloudprovider.ImplementedElsewhere)
	case "panic":
		panic("a bug of the provider")
	case "ignores-context":
		b.hang(ctx, service.Name)
	}
	return nil
}
