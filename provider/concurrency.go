package provider

// ConcurrentCaller is a cloudprovider.Interface that says how many of its calls
// may be under way at the same time. Its answers replace the defaults of flags
// such as --concurrent-route-syncs, but no value that the operator has set.
// Without it, the defaults of flags such as --concurrent-route-syncs hold.
type ConcurrentCaller interface {
	// MaxConcurrentCalls returns how many calls of a kind may be under way at the
	// same time, each for another object. 0 means the default; a provider returns 0
	// for kinds that it does not know. The answer must be constant.
	MaxConcurrentCalls(kind CallKind) int
}

// CallKind is a kind of calls. More kinds may be added.
type CallKind string

// The kinds of calls.
const (
	// InstanceCalls describe the instances of Nodes: InstanceMetadata, or the methods
	// of the older interfaces.
	InstanceCalls CallKind = "instances"
	// ExistenceCalls ask about silent Nodes: InstanceExists and InstanceShutdown.
	ExistenceCalls CallKind = "existence"
	// LoadBalancerCalls change load balancers, each for another Service. If the
	// LoadBalancer is a ConcurrentLoadBalancer, its MaxConcurrentServices
	// counts instead.
	LoadBalancerCalls CallKind = "load balancers"
	// RouteCalls create and delete routes, each for another destination.
	RouteCalls CallKind = "routes"
)
