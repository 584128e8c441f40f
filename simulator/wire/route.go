package wire

import "time"

// RouteState says what becomes of the packets that a route matches.
type RouteState string

// The states of a route.
const (
	RouteActive RouteState = "active"
	// RouteBlackhole drops what it matches: the target is not running or gone, or
	// the route has no target and is meant to drop.
	RouteBlackhole RouteState = "blackhole"
)

// RouteStates are all states of routes.
func RouteStates() []RouteState { return []RouteState{RouteActive, RouteBlackhole} }

// MaxRouteName is how many bytes the name of a route may have.
const MaxRouteName = 63

// Route leads packets for a destination to an instance. All routes are in one
// table. A route is made and deleted, and never changed but
// for its state. IDs are never given again, and no two routes have one name at
// the same time; they may have one destination, unless Config.UniqueRoutes says
// otherwise.
type Route struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Destination is a range such as 10.244.1.0/24. A word instead of it, such as
	// pl-00000001, names ranges that the cloud keeps, as lists of prefixes and
	// service tags do elsewhere.
	Destination string `json:"destination"`
	// Target is the ID of an instance; empty if the route leads elsewhere, such
	// as to a gateway. It stays when the instance is gone.
	Target string `json:"target,omitempty"`
	// TargetAddresses are the addresses that the target is reached by, if its creator
	// gave them. The cloud only stores them.
	TargetAddresses []Address `json:"targetAddresses,omitempty"`
	// Tags are the owner's own words. Lists can be limited to a tag.
	Tags map[string]string `json:"tags,omitempty"`
	// State is decided by the cloud if there is a target. Without a target, a
	// creation may ask for RouteBlackhole.
	State   RouteState `json:"state,omitempty"`
	Created time.Time  `json:"created,omitzero"`
}
