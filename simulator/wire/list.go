package wire

// List is one page of resources, ordered by ID.
type List[T any] struct {
	Items []T `json:"items"`
	// Continue asks for the next page; empty on the last one.
	Continue string `json:"continue,omitempty"`
}

// The pages of each kind.
type (
	InstanceList     = List[Instance]
	LoadBalancerList = List[LoadBalancer]
	StaticIPList     = List[StaticIP]
	RouteList        = List[Route]
)
