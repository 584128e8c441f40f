package state

import (
	"context"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func routeIdentity(r wire.Route) identity {
	return identity{id: r.ID, name: r.Name, tags: r.Tags, created: r.Created}
}

// Route returns one route.
func (s *Store) Route(ctx context.Context, id string, v Distortions) (wire.Route, error) {
	r := seen(ctx, s, s.routes, v, id)
	if r == nil {
		return wire.Route{}, missing("route", id)
	}
	return *r, nil
}

// ListRoutes returns a page of routes. If there are more pages, it also returns
// the last ID on this page.
func (s *Store) ListRoutes(ctx context.Context, q Query, v Distortions) ([]wire.Route, string) {
	rows, next := page(ctx, s, s.routes, q, v)
	all := make([]wire.Route, len(rows))
	for n, r := range rows {
		all[n] = *r
	}
	return all, next
}

// IdentifyRoutes completes a subject: it adds the ID and the name of each route that
// the subject selects.
func (s *Store) IdentifyRoutes(ctx context.Context, about Subject) Subject {
	return identified(ctx, s, s.routes, about)
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
	last := s.lastRoute
	outcomes := make([]wire.RouteOutcome, len(wanted))
	var made []change[wire.Route]
	for n, w := range wanted {
		before, after, err := s.changedRoute(w, now, v)
		switch {
		case err != nil:
			outcomes[n].Err = err
		case after == nil:
			outcomes[n].Route = *before
			made = append(made, s.routes.exchange(now, before.ID, nil))
		default:
			outcomes[n].Route = *after
			made = append(made, s.routes.exchange(now, after.ID, after))
		}
	}
	if err := keep(s, s.routes, made); err != nil {
		s.lastRoute = last
		return nil, err
	}
	for _, m := range made {
		if r := m.before; r != nil {
			klog.FromContext(ctx).Info("Route deleted", "route", r.ID, "name", r.Name, "destination", r.Destination)
		} else if r := s.routes.row(m.id); r != nil {
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
	r := s.routes.row(w.Delete)
	if r == nil || v.hides(routeIdentity(*r), now) {
		return nil, nil, missing("route", w.Delete)
	}
	return r, nil, nil
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
	if m := s.instances.row(r.Target); r.Target != "" && (m == nil || m.State == wire.Terminated) {
		return r, input.Invalid("target", "instance %s does not exist", r.Target)
	}
	if n, most := len(s.routes.ids), s.config.Limits.Routes; most > 0 && n >= most {
		return r, conflict(wire.CodeQuotaExceeded, "the route table has %d routes, and its quota is %d", n, most)
	}
	s.lastRoute++
	r.ID, r.Created, r.State = routeIDs.id(s.lastRoute), now, s.routeState(r)
	return r, nil
}

// resolveTarget sets the Target of a new route that has a TargetName, and appends the
// ID of the target to the name of the route. s.mu is held.
func (s *Store) resolveTarget(r *wire.Route) error {
	if r.TargetName == "" {
		return nil
	}
	var ids []string
	for _, m := range s.instances.all() {
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
	var rival *wire.Route
	for _, other := range s.routes.rows {
		switch {
		case other.Name == r.Name:
			return conflict(wire.CodeAlreadyExists, "the name %s belongs to route %s", r.Name, other.ID)
		case s.config.Limits.UniqueRoutes && other.Destination == r.Destination:
			rival = other
		}
	}
	if rival != nil {
		return conflict(wire.CodeConflict, "the destination %s belongs to route %s (%s)", r.Destination, rival.ID, rival.Name)
	}
	return nil
}

// routeState returns the state that a route has because of its target. s.mu is
// held.
func (s *Store) routeState(r wire.Route) wire.RouteState {
	if r.Target == "" {
		return r.State
	}
	if m := s.instances.row(r.Target); m != nil && (m.State == wire.Pending || m.State == wire.Running) {
		return wire.RouteActive
	}
	return wire.RouteBlackhole
}

// followTargets updates the state of routes after a call has changed an instance. It is
// not needed when an instance changes by itself, such as from pending to running,
// because such changes do not affect the state of a route. s.mu is held.
func (s *Store) followTargets(ctx context.Context, now time.Time) {
	for _, r := range s.routes.all() {
		state := s.routeState(*r)
		if state == r.State {
			continue
		}
		changed := *r
		changed.State = state
		s.routes.remember(s.routes.exchange(now, r.ID, &changed))
		klog.FromContext(ctx).Info("Route changed with its target", "route", r.ID, "name", r.Name, "target", r.Target, "state", state)
	}
}
