package wire

import "time"

// RouteState reports whether a route forwards packets or drops them.
type RouteState string

// The states of a route.
const (
	RouteActive RouteState = "active"
	// RouteBlackhole means that the route drops packets. Either its target is neither
	// pending nor running, or it was created as a blackhole without a target.
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
	// Target is the ID of an instance; empty if the route leads elsewhere, such
	// as to a gateway. It does not change when the instance is deleted.
	Target string `json:"target,omitempty"`
	// TargetName is a name that only one instance has. The creator of a route may
	// set it instead of Target. The cloud then sets Target, empties TargetName and
	// appends the ID of the instance to Name. So if a new instance gets the name
	// of an old one, the route to the new instance has another name.
	TargetName string `json:"targetName,omitempty"`
	// TargetAddresses are addresses of the target. The creator of the route may
	// set them. The cloud only stores them.
	TargetAddresses []Address `json:"targetAddresses,omitempty"`
	// Tags are chosen by the owner. Lists can be filtered by tags.
	Tags map[string]string `json:"tags,omitempty"`
	// State is decided by the cloud if there is a target. A route without a
	// target can be created with RouteBlackhole.
	State   RouteState `json:"state,omitempty"`
	Created time.Time  `json:"created,omitzero"`
}
