package conformance

import "slices"

// The parts of the contract that the checks of load balancers cite.
const (
	sourceName     = "LoadBalancer.GetLoadBalancerName: returns the name of the load balancer"
	sourceGet      = "LoadBalancer.GetLoadBalancer: whether the specified load balancer exists, and if so, what its status is"
	sourceEnsure   = "LoadBalancer.EnsureLoadBalancer: creates a new load balancer 'name', or updates the existing one, and returns its status"
	sourceRetry    = "LoadBalancer.EnsureLoadBalancer: a (possibly wrapped) api.RetryError when the load balancer is not ready yet"
	sourceUpdate   = "LoadBalancer.UpdateLoadBalancer: updates hosts under the specified load balancer"
	sourceDelete   = "LoadBalancer.EnsureLoadBalancerDeleted: deletes the specified load balancer if it exists, and returns nil if it did not exist or was deleted"
	sourceParts    = "LoadBalancer.EnsureLoadBalancerDeleted: load balancers have multiple underlying components, some of which may still be there"
	sourceReadOnly = "LoadBalancer: implementations must treat the Service and Node parameters as read-only"
	sourceField    = "ServiceSpec: a field of the Service means for all clouds what the API says"
	costLeak       = "The account pays for what no Service uses, and its quota fills up."
	costFinalizer  = "The Service is never removed: its finalizer waits for a deletion that succeeds."
	costSecond     = "A Service gets another address, and the former load balancer is never deleted."
	costNoTraffic  = "Nodes of the Service get no traffic, and requests fail."
)

// loadBalancerChecks returns the checks of cloudprovider.LoadBalancer.
func loadBalancerChecks() []Check {
	all := slices.Concat(lifeChecks(), nodeChecks(), fieldChecks(), troubleChecks())
	for n := range all {
		all[n].Since, all[n].Writes = "0.2", true
	}
	return all
}
