package state

import (
	"context"
	"net/netip"
	"strings"
	"time"
	"unicode"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func routeIdentity(r wire.Route) identity {
	return identity{id: r.ID, name: r.Name, tags: r.Tags, created: r.Created}
}

// CreateRoute creates a route.
func (s *Store) CreateRoute(ctx context.Context, wanted wire.Route) (wire.Route, error) {
	return s.changeRoute(ctx, wire.RouteChange{Create: &wanted}, Distortions{})
}

// DeleteRoute deletes a route.
func (s *Store) DeleteRoute(ctx context.Context, id string, v Distortions) (wire.Route, error) {
	return s.changeRoute(ctx, wire.RouteChange{Delete: id}, v)
}

func (s *Store) changeRoute(ctx context.Context, wanted wire.RouteChange, v Distortions) (wire.Route, error) {
	outcomes, err := s.ChangeRoutes(ctx, []wire.RouteChange{wanted}, v)
	if err != nil {
		return wire.Route{}, err
	}
	return outcomes[0].Route, outcomes[0].Err
}

// ChangeRoutes makes changes one after the other. Each change sees the results of
// the earlier changes, and has its own outcome. If ChangeRoutes returns an error, it
// has made no change.
func (s *Store) ChangeRoutes(ctx context.Context, wanted []wire.RouteChange, v Distortions) ([]wire.RouteOutcome, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.settle(ctx)
	last := s.Routes.last
	outcomes := make([]wire.RouteOutcome, len(wanted))
	var made []change[wire.Route]
	for n, w := range wanted {
		before, after, err := s.changedRoute(w, now, v)
		switch {
		case err != nil:
			outcomes[n].Err = err
		case after == nil:
			outcomes[n].Route = *before
			made = append(made, s.Routes.exchange(now, before.ID, nil))
		default:
			outcomes[n].Route = *after
			made = append(made, s.Routes.exchange(now, after.ID, after))
		}
	}
	if err := keep(s, s.Routes.table, made); err != nil {
		s.Routes.last = last
		return nil, err
	}
	for _, m := range made {
		if r := m.before; r != nil {
			klog.FromContext(ctx).Info("Route deleted", "route", r.ID, "name", r.Name, "destination", r.Destination)
		} else if r := s.Routes.row(m.id); r != nil {
			klog.FromContext(ctx).Info("Route created", "route", r.ID, "name", r.Name, "destination", r.Destination, "target", r.Target)
		}
	}
	return outcomes, nil
}

// changedRoute returns the route that a change is about, before and after the
// change. For a creation, before is nil. For a deletion, after is nil. s.mu is
// held.
func (s *Store) changedRoute(w wire.RouteChange, now time.Time, v Distortions) (before, after *wire.Route, err error) {
	if w.Create != nil {
		r, err := s.routeToAdd(*w.Create, now)
		return nil, &r, err
	}
	before, err = s.Routes.visible(w.Delete, now, v)
	return before, nil, err
}

// routeToAdd checks a route to be created, and returns it with a new ID. s.mu is
// held.
func (s *Store) routeToAdd(wanted wire.Route, now time.Time) (wire.Route, error) {
	r, err := newRoute(wanted)
	if err != nil {
		return r, err
	}
	if err := s.resolveTarget(&r); err != nil {
		return r, err
	}
	// The name is checked before the quota: a caller that repeats the creation
	// after a lost reply must learn that the route exists.
	if err := s.checkRouteName(r); err != nil {
		return r, err
	}
	if m := s.Instances.row(r.Target); r.Target != "" && (m == nil || m.State == wire.Terminated) {
		return r, input.Invalid("target", "instance %s does not exist", r.Target)
	}
	if n, most := len(s.Routes.table.ids), s.config.Limits.Routes; most > 0 && n >= most {
		return r, conflict(wire.CodeQuotaExceeded, "the route table has %d routes, and its quota is %d", n, most)
	}
	r.ID, r.Created, r.State = s.Routes.nextID(), now, s.routeState(r)
	s.Routes.last++
	return r, nil
}

// resolveTarget sets the Target of a new route that has a TargetName, and appends the
// ID of the target to the name of the route. s.mu is held.
func (s *Store) resolveTarget(r *wire.Route) error {
	if r.TargetName == "" {
		return nil
	}
	var ids []string
	for _, m := range s.Instances.all() {
		if m.Name == r.TargetName && m.State != wire.Terminated {
			ids = append(ids, m.ID)
		}
	}
	switch len(ids) {
	case 0:
		return conflict(wire.CodeTargetNotFound, "no instance is named %s", r.TargetName)
	case 1:
		r.Name, r.Target, r.TargetName = r.Name+"-"+ids[0], ids[0], ""
		return input.CheckName(r.Name, wire.MaxRouteName)
	}
	return input.Invalid("targetName", "%d instances are named %s: %s", len(ids), r.TargetName, strings.Join(ids, ", "))
}

// checkRouteName requires that no other route has the name. With UniqueRoutes,
// no other route may have the destination either. s.mu is held.
func (s *Store) checkRouteName(r wire.Route) error {
	if err := s.Routes.checkName(r.ID, r.Name); err != nil {
		return err
	}
	for _, other := range s.Routes.rows {
		if s.config.Limits.UniqueRoutes && other.Destination == r.Destination {
			return conflict(wire.CodeConflict, "the destination %s belongs to route %s (%s)", r.Destination, other.ID, other.Name)
		}
	}
	return nil
}

// routeState returns the state that a route has because of its target. s.mu is
// held.
func (s *Store) routeState(r wire.Route) wire.RouteState {
	if r.Target == "" {
		return r.State
	}
	if m := s.Instances.row(r.Target); m != nil && (m.State == wire.Pending || m.State == wire.Running) {
		return wire.RouteActive
	}
	return wire.RouteBlackhole
}

// followTargets updates the state of routes after a call has changed an instance. It is
// not needed when an instance changes by itself, such as from pending to running,
// because such changes do not affect the state of a route. s.mu is held.
func (s *Store) followTargets(ctx context.Context, now time.Time) {
	for _, r := range s.Routes.all() {
		state := s.routeState(*r)
		if state == r.State {
			continue
		}
		changed := *r
		changed.State = state
		s.Routes.remember(s.Routes.exchange(now, r.ID, &changed))
		klog.FromContext(ctx).Info("Route changed with its target", "route", r.ID, "name", r.Name, "target", r.Target, "state", state)
	}
}

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

// checkSavedRoute puts a saved route into its stored form. The target may have changed
// after the route was saved, so the state is computed again.
func (s *Store) checkSavedRoute(r *wire.Route) (err error) {
	if *r, err = checkedRoute(*r); err == nil {
		r.State = s.routeState(*r)
	}
	return err
}
