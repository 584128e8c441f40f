package wire

// MaxSharedBackends is the maximum number of load balancers in one SharedBackends.
const MaxSharedBackends = 250

// SharedBackends is the body of a request that gives several load balancers the same
// backends.
type SharedBackends struct {
	// Names are the names of the load balancers.
	Names []string `json:"names"`
	// Tags are the tags that each load balancer must have. A load balancer that lacks
	// one of them is not changed, and the answer says that it does not exist.
	Tags map[string]string `json:"tags,omitempty"`
	// Backends are IDs of instances, as in LoadBalancer.
	Backends []string `json:"backends"`
}

// BackendOutcomes is the body of the answer to SharedBackends. The outcomes are in the
// order of the names.
type BackendOutcomes struct {
	Outcomes []BackendResult `json:"outcomes"`
}

// BackendResult is the outcome for one load balancer. Status is the HTTP status that a
// request for only this load balancer would get.
type BackendResult struct {
	Status int          `json:"status"`
	Error  *ErrorDetail `json:"error,omitempty"`
}
