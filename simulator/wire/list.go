package wire

// List is one page of resources, ordered by ID.
type List[T any] struct {
	Items []T `json:"items"`
	// Continue is the value of the query parameter "continue" in a request for the
	// next page. It is empty on the last page.
	Continue string `json:"continue,omitempty"`
}

type (
	// InstanceList is one page of instances, ordered by ID.
	InstanceList = List[Instance]
	// LoadBalancerList is one page of load balancers, ordered by ID.
	LoadBalancerList = List[LoadBalancer]
	// StaticIPList is one page of static IPs, ordered by ID.
	StaticIPList = List[StaticIP]
	// RouteList is one page of routes, ordered by ID.
	RouteList = List[Route]
	// VolumeList is one page of volumes, ordered by ID.
	VolumeList = List[Volume]
)
