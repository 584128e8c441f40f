package provider

// ConcurrentCaller is a cloudprovider.Interface that says how many of its calls
// may be under way at the same time. A flag that the operator sets, such as
// --concurrent-route-syncs, wins. Without it, the defaults of these flags hold.
type ConcurrentCaller interface {
	// MaxConcurrentCalls returns for how many objects calls of a kind may be under
	// way at the same time; 0 means that the default holds, as for a kind that it
	// does not know. It must be constant.
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
	// LoadBalancerCalls change load balancers, each of another Service. If the
	// LoadBalancer is a ConcurrentLoadBalancer, that one counts.
	LoadBalancerCalls CallKind = "load balancers"
	// RouteCalls create and delete routes, each of another destination.
	RouteCalls CallKind = "routes"
)
