package simulated

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// settingBalancers is a LoadBalancer that also implements
// provider.BackendSetter.
type settingBalancers struct{ *loadBalancers }

var (
	_ cloudprovider.LoadBalancer = settingBalancers{}
	_ provider.BackendSetter     = settingBalancers{}
)

// MaxBackendServices implements provider.BackendSetter.
func (settingBalancers) MaxBackendServices() int { return simulator.MaxSharedBackends }

// SetBackends implements provider.BackendSetter with one call to the cloud, which
// finds the load balancers by their names.
func (b settingBalancers) SetBackends(ctx context.Context, cluster string, services []*corev1.Service, nodes []*corev1.Node) ([]provider.BackendResult, error) {
	wanted := simulator.SharedBackends{
		Tags:     map[string]string{TagCluster: cluster},
		Backends: backends(ctx, services[0], nodes),
	}
	for _, service := range services {
		wanted.Names = append(wanted.Names, balancerName(cluster, service))
	}
	errs, err := ask(ctx, b.cloud, func(ctx context.Context, client *simulator.Client) ([]error, error) {
		return client.SetBackends(ctx, wanted)
	})
	if err != nil {
		return nil, fmt.Errorf("set the backends of %d load balancers: %w", len(services), err)
	}
	results := make([]provider.BackendResult, len(services))
	for n, err := range errs {
		results[n].Service = n
		switch {
		case simulator.IsNotFound(err):
			results[n].Err = errNoLoadBalancer
		case err != nil:
			results[n].Err = fmt.Errorf("update load balancer %s: %w", wanted.Names[n], err)
		}
	}
	klog.FromContext(ctx).Info("Load balancers updated", "loadBalancers", len(services), "backends", len(wanted.Backends))
	return results, nil
}
