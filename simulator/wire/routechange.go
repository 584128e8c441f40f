package wire

// RouteChange is the creation or the deletion of one route.
type RouteChange struct {
	Create *Route `json:"create,omitempty"`
	// Delete is the ID of a route.
	Delete string `json:"delete,omitempty"`
}

// RouteOutcome is what became of a RouteChange: the route that was created or
// deleted, or an error, which is an *APIError.
type RouteOutcome struct {
	Route Route
	Err   error
}

// RouteChanges is how a request for several changes is written.
type RouteChanges struct {
	Changes []RouteChange `json:"changes"`
}

// RouteOutcomes is how the answer is written, in the order of the changes.
type RouteOutcomes struct {
	Outcomes []RouteResult `json:"outcomes"`
}

// RouteResult has the status that the change would have been answered with if
// it had been asked for alone.
type RouteResult struct {
	Status int          `json:"status"`
	Route  *Route       `json:"route,omitempty"`
	Error  *ErrorDetail `json:"error,omitempty"`
}
