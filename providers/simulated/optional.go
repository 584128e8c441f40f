package simulated

import (
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/provider"
)

// optional has a field for each optional interface that the configuration can
// switch off. A field that is true switches its interface off.
type optional struct {
	fastPaths
	BackendSetter      bool `json:"withoutBackendSetter"`      // provider.BackendSetter
	RouteApplier       bool `json:"withoutRouteApplier"`       // provider.RouteApplier
	ConcurrentCalls    bool `json:"withoutConcurrentCalls"`    // provider.ConcurrentCaller
	ConcurrentServices bool `json:"withoutConcurrentServices"` // provider.ConcurrentLoadBalancer
}

// fastPaths has a field for each optional interface that reports many instances in
// one call. A field that is true switches its interface off.
type fastPaths struct {
	Batches bool `json:"withoutBatches"` // provider.InstanceMetadataBatcher
	Lists   bool `json:"withoutLists"`   // provider.InstanceLister
	Watches bool `json:"withoutWatches"` // provider.InstanceWatcher
}

var _ provider.ConcurrentCaller = (*Cloud)(nil)

// MaxConcurrentCalls implements provider.ConcurrentCaller. Any number of concurrent
// calls is safe, because the calls keep nothing in memory. Returning larger numbers
// would not help: a cloud with a quota would refuse the additional calls.
func (c *Cloud) MaxConcurrentCalls(kind provider.CallKind) int {
	if c.without.ConcurrentCalls {
		return 0
	}
	switch kind {
	case provider.InstanceCalls, provider.ExistenceCalls:
		return 16
	case provider.LoadBalancerCalls:
		return concurrentServices
	case provider.RouteCalls:
		return 200
	}
	return 0
}

// concurrentServices is the maximum number of concurrent calls, each for a different
// Service.
const concurrentServices = 10

// manyServices implements provider.ConcurrentLoadBalancer.
type manyServices struct{}

// MaxConcurrentServices implements provider.ConcurrentLoadBalancer. Concurrent
// calls are safe, because Services share nothing.
func (manyServices) MaxConcurrentServices() int { return concurrentServices }

// offering returns the load balancers, together with each optional interface that is
// not switched off.
func (b *loadBalancers) offering(without optional) cloudprovider.LoadBalancer {
	setter := settingBalancers{b}
	switch {
	case without.BackendSetter && without.ConcurrentServices:
		return b
	case without.BackendSetter:
		return struct {
			*loadBalancers
			manyServices
		}{b, manyServices{}}
	case without.ConcurrentServices:
		return setter
	default:
		return struct {
			settingBalancers
			manyServices
		}{setter, manyServices{}}
	}
}
