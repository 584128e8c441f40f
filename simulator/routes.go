package simulator

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/klog/v2"
)

func (c *Cloud) route(ctx context.Context, id string, v view) (Route, error) {
	r := seen(ctx, c, c.routes, v, id)
	if r == nil {
		return Route{}, noRoute(id)
	}
	return *r, nil
}

func (c *Cloud) createRoute(ctx context.Context, wanted Route) (Route, error) {
	return c.changeRoute(ctx, RouteChange{Create: &wanted}, view{})
}

func (c *Cloud) deleteRoute(ctx context.Context, id string, v view) (Route, error) {
	return c.changeRoute(ctx, RouteChange{Delete: id}, v)
}

func (c *Cloud) changeRoute(ctx context.Context, wanted RouteChange, v view) (Route, error) {
	outcomes, err := c.changeRoutes(ctx, []RouteChange{wanted}, v)
	if err != nil {
		return Route{}, err
	}
	return outcomes[0].Route, outcomes[0].Err
}

// changeRoutes makes changes one after the other: each meets what those before
// it have left. The error is about all of them; with it none is made.
func (c *Cloud) changeRoutes(ctx context.Context, wanted []RouteChange, v view) ([]RouteOutcome, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.settle(ctx)
	last := c.lastRoute
	outcomes := make([]RouteOutcome, len(wanted))
	var made []change[Route]
	for n, w := range wanted {
		before, after, err := c.changedRoute(w, now, v)
		switch {
		case err != nil:
			outcomes[n].Err = err
		case after == nil:
			outcomes[n].Route = *before
			made = append(made, c.routes.exchange(now, before.ID, nil))
		default:
			outcomes[n].Route = *after
			made = append(made, c.routes.exchange(now, after.ID, after))
		}
	}
	if err := keep(c, c.routes, made); err != nil {
		c.lastRoute = last
		return nil, err
	}
	for _, m := range made {
		if r := m.before; r != nil {
			klog.FromContext(ctx).Info("Route deleted", "route", r.ID, "name", r.Name, "destination", r.Destination)
		} else if r := c.routes.row(m.id); r != nil {
			klog.FromContext(ctx).Info("Route created", "route", r.ID, "name", r.Name, "destination", r.Destination, "target", r.Target)
		}
	}
	return outcomes, nil
}

// changedRoute is the route that a change is about, as it is and as it will be;
// nil where there is none. c.mu is held.
func (c *Cloud) changedRoute(w RouteChange, now time.Time, v view) (before, after *Route, err error) {
	if w.Create != nil {
		r, err := c.newRoute(*w.Create, now)
		return nil, &r, err
	}
	r := c.routes.row(w.Delete)
	if r == nil || v.hides(r.identity(), now) {
		return nil, nil, noRoute(w.Delete)
	}
	return r, nil, nil
}

// newRoute is a route that may be added to the table. Its ID is given for good.
// c.mu is held.
func (c *Cloud) newRoute(wanted Route, now time.Time) (Route, error) {
	r, err := wanted.asCreated()
	if err != nil {
		return r, err
	}
	// The name comes before the quota: whoever asks again after a lost reply
	// has to learn that the route is there.
	if err := c.checkRouteName(r); err != nil {
		return r, err
	}
	if m := c.instances.row(r.Target); r.Target != "" && (m == nil || m.State == Terminated) {
		return r, invalid("target", "instance %s does not exist", r.Target)
	}
	if n, most := len(c.routes.ids), c.limits.routes; most > 0 && n >= most {
		return r, conflict(CodeQuotaExceeded, "the route table has %d routes, and its quota is %d", n, most)
	}
	c.lastRoute++
	r.ID, r.Created, r.State = routeIDs.id(c.lastRoute), now, c.routeState(r)
	return r, nil
}

// checkRouteName demands that nobody else has the name, nor the destination
// where there can be only one. c.mu is held.
func (c *Cloud) checkRouteName(r Route) error {
	var rival *Route
	for _, other := range c.routes.rows {
		switch {
		case other.Name == r.Name:
			return conflict(CodeAlreadyExists, "the name %s belongs to route %s", r.Name, other.ID)
		case c.limits.uniqueRoutes && other.Destination == r.Destination:
			rival = other
		}
	}
	if rival != nil {
		return conflict(CodeConflict, "the destination %s belongs to route %s (%s)", r.Destination, rival.ID, rival.Name)
	}
	return nil
}

// routeState is the state that the target gives the route. c.mu is held.
func (c *Cloud) routeState(r Route) RouteState {
	if r.Target == "" {
		return r.State
	}
	if m := c.instances.row(r.Target); m != nil && (m.State == Pending || m.State == Running) {
		return RouteActive
	}
	return RouteBlackhole
}

// followTargets lets routes become what their targets make of them. That is due
// when an instance is changed, and not when it changes by itself: pending and
// running are one to a route, and so is all that follows. c.mu is held.
func (c *Cloud) followTargets(ctx context.Context, now time.Time) {
	for _, r := range c.routes.all() {
		state := c.routeState(*r)
		if state == r.State {
			continue
		}
		changed := *r
		changed.State = state
		c.routes.remember(c.routes.exchange(now, r.ID, &changed))
		klog.FromContext(ctx).Info("Route changed with its target", "route", r.ID, "name", r.Name, "target", r.Target, "state", state)
	}
}

func noRoute(id string) error {
	return &APIError{StatusCode: http.StatusNotFound, Code: CodeNotFound, Message: fmt.Sprintf("route %s does not exist", id)}
}
