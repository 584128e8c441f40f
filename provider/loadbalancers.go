package provider

// ConcurrentLoadBalancer is a cloudprovider.LoadBalancer that is safe for calls
// about different Services at the same time. Calls about one Service never
// overlap. Without it, calls are made one after the other unless the operator
// says otherwise.
type ConcurrentLoadBalancer interface {
	// MaxConcurrentServices returns for how many Services calls may be under way
	// at the same time. It must be positive and constant.
	MaxConcurrentServices() int
}
