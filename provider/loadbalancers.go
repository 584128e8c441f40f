package provider

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// ConcurrentLoadBalancer is a cloudprovider.LoadBalancer that is safe for calls
// about different Services at the same time. Calls about one Service never
// overlap. Without it, calls are made one after the other, unless a
// ConcurrentCaller or a flag allows more.
type ConcurrentLoadBalancer interface {
	// MaxConcurrentServices returns how many calls may be under way at the same
	// time, each for another Service. It must be positive and constant.
	MaxConcurrentServices() int
}

// BackendSetter is a cloudprovider.LoadBalancer that gives many load balancers the same nodes with
// one call to the cloud. It is called when the nodes have changed and nothing else has. Calls
// about one Service never overlap: while a call of SetBackends is under way, EnsureLoadBalancer,
// UpdateLoadBalancer and EnsureLoadBalancerDeleted are not called for its Services. If the call
// fails as a whole in a way that one Service may have caused, the Services are updated one by one.
//
// Without it, UpdateLoadBalancer is called for each Service.
type BackendSetter interface {
	// SetBackends does for each of the Services what UpdateLoadBalancer would do with these
	// nodes, and returns a result for each of them. If one Service fails, the others still get
	// their nodes. An error of the whole call is returned without results. A Service that has
	// no result, or two that differ, is then updated alone. Services and nodes are copies and
	// may be kept.
	SetBackends(ctx context.Context, clusterName string, services []*corev1.Service, nodes []*corev1.Node) ([]BackendResult, error)
	// MaxBackendServices is the largest number of Services for one call. It must be
	// positive and constant.
	MaxBackendServices() int
}

// BackendResult is the result of SetBackends for one Service.
type BackendResult struct {
	// Service is the index of the Service in the call.
	Service int
	// Err is what UpdateLoadBalancer would have returned.
	Err error
}
