package wire

import (
	"time"
)

// RouteState reports whether a route forwards packets or drops them.
type RouteState string

// The states of a route.
const (
	RouteActive RouteState = "active"
	// RouteBlackhole means that the route drops packets. A route with a target does so
	// unless the target is pending or running. A route without a target does so if it
	// was created as a blackhole.
	RouteBlackhole RouteState = "blackhole"
)

// RouteStates returns all states of routes.
func RouteStates() []RouteState { return []RouteState{RouteActive, RouteBlackhole} }

// MaxRouteName is the maximum length in bytes of the name of a route.
const MaxRouteName = 63

// Route leads packets for a destination to an instance. All routes are in one
// table. Only the state of a route can change. To change anything else, delete the
// route and create another. IDs are never reused, and two routes never have the same
// name at the same time. They can have the same destination, unless
// Config.UniqueRoutes is set.
type Route struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Destination is a range such as 10.244.1.0/24, or a name such as pl-00000001.
	// A name stands for a list of ranges, like the prefix lists and service tags
	// of other clouds.
	Destination string `json:"destination"`
	// Target is the ID of an instance; empty if the route leads elsewhere, such as to a
	// gateway. It stays the same when the instance is deleted.
	Target string `json:"target,omitempty"`
	// TargetName may be set instead of Target when a route is created. Exactly one
	// instance must have this name. The cloud then sets Target, empties TargetName and
	// appends the ID of the instance to Name. So if an instance is replaced by a new
	// one of the same name, the route to the new instance has another name.
	TargetName string `json:"targetName,omitempty"`
	// TargetAddresses are addresses of the target. The creator of the route may
	// set them. The cloud only stores them.
	TargetAddresses []Address `json:"targetAddresses,omitempty"`
	// Tags are chosen by the owner. Lists can be filtered by tags.
	Tags map[string]string `json:"tags,omitempty"`
	// The cloud decides the State if there is a target. A route without a target can be
	// created with RouteBlackhole.
	State   RouteState `json:"state,omitempty"`
	Created time.Time  `json:"created,omitzero"`
}

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
