package provider

// ConcurrentCaller is a cloudprovider.Interface that says how many of its calls
// may be under way at the same time. Its answers replace the defaults of flags
// such as --concurrent-route-syncs. A value that the operator has set is not
// replaced.
//
// Without it, the defaults of flags such as --concurrent-route-syncs apply.
type ConcurrentCaller interface {
	// MaxConcurrentCalls returns the number of calls of a kind that may be under
	// way at the same time, each for a different object. 0 means the default. A
	// provider returns 0 for kinds that it does not know. The answer must be
	// constant.
	MaxConcurrentCalls(kind CallKind) int
}

// CallKind is a kind of calls. Later versions may add kinds.
type CallKind string

// The kinds of calls.
const (
	// InstanceCalls are the calls that describe the instances of Nodes:
	// InstanceMetadata, or the methods of the older interfaces.
	InstanceCalls CallKind = "instances"
	// ExistenceCalls are the calls about silent Nodes: InstanceExists,
	// InstanceShutdown and InstanceTermination.
	ExistenceCalls CallKind = "existence"
	// LoadBalancerCalls are the calls that change load balancers, each for a
	// different Service. If the LoadBalancer is a ConcurrentLoadBalancer, its
	// MaxConcurrentServices counts instead.
	LoadBalancerCalls CallKind = "load balancers"
	// RouteCalls are the calls that create and delete routes, each for a
	// different destination.
	RouteCalls CallKind = "routes"
)
