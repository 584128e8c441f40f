package state

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// newRoute returns the route that a request asks to create. It has no ID yet.
func newRoute(r wire.Route) (wire.Route, error) {
	switch {
	case r.ID != "":
		return r, input.Invalid("id", "must be empty; the cloud sets it")
	case !r.Created.IsZero():
		return r, input.Invalid("created", "must be empty; the cloud sets it")
	case r.State == "":
		r.State = wire.RouteActive
	case r.State != wire.RouteBlackhole || r.Target != "" || r.TargetName != "":
		return r, input.Invalid("state", "must be empty; only a route without a target can be made as a %s", wire.RouteBlackhole)
	}
	if r.Target != "" && r.TargetName != "" {
		return r, input.Invalid("targetName", "must be empty if there is a target")
	}
	return checkedRoute(r)
}

// checkedRoute checks a route and returns it in its stored form.
func checkedRoute(r wire.Route) (wire.Route, error) {
	err := input.CheckName(r.Name, wire.MaxRouteName)
	if err != nil {
		return r, err
	}
	if r.Destination, err = checkedDestination(r.Destination); err != nil {
		return r, err
	}
	if _, ok := instanceIDs.number(r.Target); !ok && r.Target != "" {
		return r, input.Invalid("target", "%q is not an instance ID", r.Target)
	}
	if len(r.TargetAddresses) > 0 {
		if r.TargetAddresses, err = checkedAddresses("targetAddresses", r.TargetAddresses); err != nil {
			return r, err
		}
	}
	return r, input.CheckTags(r.Tags)
}

// checkedDestination checks a destination and returns it in its stored form. It accepts a
// range or a name. A name must begin with a letter and contain neither "/" nor ":",
// because it could be a mistyped range otherwise.
func checkedDestination(text string) (string, error) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.Masked().String(), nil
	}
	if input.CheckWord("destination", text) == nil && unicode.IsLetter([]rune(text)[0]) && !strings.ContainsAny(text, "/:") {
		return text, nil
	}
	return "", input.Invalid("destination", "%q is neither a range such as 10.244.1.0/24 nor the name of a list of ranges such as pl-00000001", text)
}

// restorableRoute checks a saved route, puts it into its stored form and updates its
// state. It returns an error if the route is invalid. s.mu is held.
func (s *Store) restorableRoute(r *wire.Route) error {
	if err := restorable(routeIDs, r.ID, s.lastRoute, s.routes); err != nil {
		return err
	}
	switch {
	case r.TargetName != "":
		return errors.New("targetName: must be empty")
	case !slices.Contains(wire.RouteStates(), r.State):
		return fmt.Errorf("state: %q is not a state of routes", r.State)
	case r.Created.IsZero():
		return errors.New("created: is missing")
	}
	checked, err := checkedRoute(*r)
	if err != nil {
		return err
	}
	*r = checked
	r.State = s.routeState(*r) // the target may have changed after the route was saved
	return s.checkRouteName(*r)
}
