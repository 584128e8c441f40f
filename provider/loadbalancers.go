package provider

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// ConcurrentLoadBalancer is a cloudprovider.LoadBalancer that is safe for calls
// about different Services at the same time. Calls about one Service never
// overlap.
//
// Without it, the daemon makes the calls one after the other, unless a
// ConcurrentCaller or a flag allows more.
type ConcurrentLoadBalancer interface {
	// MaxConcurrentServices returns the number of calls that may be under way
	// at the same time, each for a different Service. It must be positive and
	// constant.
	MaxConcurrentServices() int
}

// BackendSetter is a cloudprovider.LoadBalancer that gives many load balancers the same nodes with
// one call to the cloud. The daemon calls SetBackends when only the nodes have changed.
// Calls about one Service never overlap: for the Services of a running SetBackends call,
// the daemon does not call EnsureLoadBalancer, UpdateLoadBalancer or
// EnsureLoadBalancerDeleted. If a call of SetBackends fails as a whole, the daemon updates
// the Services one by one, because a single Service may have caused the error.
//
// Without it, UpdateLoadBalancer is called for each Service.
type BackendSetter interface {
	// SetBackends does for each of the Services what UpdateLoadBalancer would do with these
	// nodes. It returns a result for each Service. If one Service fails, the others still get
	// their nodes. If the whole call fails, SetBackends returns an error and no results. If a
	// Service has no result, or two different results, the daemon updates it alone. Services
	// and nodes are copies, so SetBackends may keep them.
	SetBackends(ctx context.Context, clusterName string, services []*corev1.Service, nodes []*corev1.Node) ([]BackendResult, error)
	// MaxBackendServices is the largest number of Services for one call. It must be
	// positive and constant.
	MaxBackendServices() int
}

// BackendLimit is a cloudprovider.LoadBalancer whose load balancers take a limited number of
// nodes. Where the flag --service-backends or an annotation chooses nodes, no load balancer gets
// more than that. They are spread over the zones, and nodes with ready endpoints come first. A
// load balancer that is to have all nodes gets all of them.
//
// Without it, only the flag and the annotation limit the number of nodes.
type BackendLimit interface {
	// MaxBackends is the largest number of nodes behind one load balancer, or 0 if there is no
	// limit. It must be constant.
	MaxBackends() int
}

// BackendResult is the result of SetBackends for one Service.
type BackendResult struct {
	// Service is the index of the Service in the call.
	Service int
	// Err is what UpdateLoadBalancer would have returned.
	Err error
}
