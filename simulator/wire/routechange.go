package wire

// MaxRouteChanges is the maximum number of changes of routes in one call.
const MaxRouteChanges = 250

// RouteChange is the creation or the deletion of one route.
type RouteChange struct {
	Create *Route `json:"create,omitempty"`
	// Delete is the ID of the route to delete.
	Delete string `json:"delete,omitempty"`
}

// RouteOutcome is the result of a RouteChange: the route that was created or deleted,
// or else an *APIError.
type RouteOutcome struct {
	Route Route
	Err   error
}

// RouteChanges is the body of a request for several changes.
type RouteChanges struct {
	Changes []RouteChange `json:"changes"`
}

// RouteOutcomes is the body of the answer to RouteChanges. The outcomes are in
// the order of the changes.
type RouteOutcomes struct {
	Outcomes []RouteResult `json:"outcomes"`
}

// RouteResult is the outcome of one change. Status is the HTTP status that a
// request for only this change would get.
type RouteResult struct {
	Status int          `json:"status"`
	Route  *Route       `json:"route,omitempty"`
	Error  *ErrorDetail `json:"error,omitempty"`
}
