package simulator

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"
)

// asCreated is the route that a request to create r means, without an ID.
func (r Route) asCreated() (Route, error) {
	switch {
	case r.ID != "":
		return r, invalid("id", "must be empty; the cloud gives it")
	case !r.Created.IsZero():
		return r, invalid("created", "must be empty; the cloud knows it")
	case r.State == "":
		r.State = RouteActive
	case r.State != RouteBlackhole || r.Target != "":
		return r, invalid("state", "must be empty; only a route without a target can be made as a %s", RouteBlackhole)
	}
	return r.checked()
}

// checked is the route in the form in which it is kept, or the first thing that
// is wrong with it.
func (r Route) checked() (Route, error) {
	err := checkName(r.Name, MaxRouteName)
	if err != nil {
		return r, err
	}
	if r.Destination, err = checkedDestination(r.Destination); err != nil {
		return r, err
	}
	if _, ok := instanceIDs.number(r.Target); !ok && r.Target != "" {
		return r, invalid("target", "%q is no instance ID", r.Target)
	}
	if len(r.TargetAddresses) > 0 {
		if r.TargetAddresses, err = checkedAddresses("targetAddresses", r.TargetAddresses); err != nil {
			return r, err
		}
	}
	return r, checkTags(r.Tags)
}

// checkedDestination is a range in one form, or a word that cannot be a slip of
// the pen in a range.
func checkedDestination(text string) (string, error) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.Masked().String(), nil
	}
	if checkWord("destination", text) == nil && unicode.IsLetter([]rune(text)[0]) && !strings.ContainsAny(text, "/:") {
		return text, nil
	}
	return "", invalid("destination", "%q is no range such as 10.244.1.0/24, and no name of ranges such as pl-00000001", text)
}

// restorableRoute completes a route that was saved, or says why it could not
// have been saved. c.mu is held.
func (c *Cloud) restorableRoute(r *Route) error {
	if err := restorable(routeIDs, r.ID, c.lastRoute, c.routes); err != nil {
		return err
	}
	switch {
	case !slices.Contains(RouteStates(), r.State):
		return fmt.Errorf("state: %q is none", r.State)
	case r.Created.IsZero():
		return errors.New("created: is missing")
	}
	checked, err := r.checked()
	if err != nil {
		return err
	}
	*r = checked
	r.State = c.routeState(*r) // the target may have changed after the route was saved
	return c.checkRouteName(*r)
}
