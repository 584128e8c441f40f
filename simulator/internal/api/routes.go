package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func (s *Server) routes() kind {
	return kind{
		name:       "route",
		endpoints:  s.routeEndpoints(),
		collection: collection("routes", s.store.ListRoutes),
		identify:   s.store.IdentifyRoutes,
		note:       func(r *wire.CallRecord, word string) { r.Route = word },
	}
}

func (s *Server) routeEndpoints() []endpoint {
	one := "/routes/{id}"
	name := func(r wire.Route) string { return r.Name }
	return []endpoint{
		{http.MethodGet, "/routes", wire.ListRoutes, listing(s, s.store.ListRoutes, "tag")},
		{http.MethodPost, "/routes", wire.CreateRoute, creating(name, s.store.CreateRoute)},
		{http.MethodPost, "/routes/changes", wire.ChangeRoutes, s.readRouteChanges},
		{http.MethodGet, one, wire.GetRoute, onOne(s.store.Route)},
		{http.MethodDelete, one, wire.DeleteRoute, withoutBody(onOne(s.store.DeleteRoute))},
	}
}

func (s *Server) readRouteChanges(_ *http.Request, body []byte) (operation, error) {
	wanted, err := input.Decode[wire.RouteChanges](body)
	if err == nil {
		err = checkRouteChanges(wanted)
	}
	run := func(ctx context.Context, v state.Distortions) (reply, error) {
		outcomes, err := s.store.ChangeRoutes(ctx, wanted.Changes, v)
		var answer wire.RouteOutcomes
		for n, o := range outcomes {
			answer.Outcomes = append(answer.Outcomes, writtenOutcome(o, wanted.Changes[n]))
		}
		return reply{http.StatusOK, answer}, err
	}
	return operation{about: aboutRoutes(wanted), run: run}, err
}

// checkRouteChanges requires 1 to MaxRouteChanges changes. Each of them must either
// create or delete a route.
func checkRouteChanges(w wire.RouteChanges) error {
	if n := len(w.Changes); n == 0 || n > wire.MaxRouteChanges {
		return input.Invalid("changes", "%d are given; a call takes 1 to %d", n, wire.MaxRouteChanges)
	}
	for n, c := range w.Changes {
		if (c.Create == nil) == (c.Delete == "") {
			return input.Invalid(fmt.Sprintf("changes[%d]", n), "must have either create or delete")
		}
	}
	return nil
}

// aboutRoutes returns the routes that the changes concern.
func aboutRoutes(w wire.RouteChanges) state.Subject {
	var s state.Subject
	for _, c := range w.Changes {
		if c.Create != nil {
			s.Names = append(s.Names, c.Create.Name)
		} else {
			s.IDs = append(s.IDs, c.Delete)
		}
	}
	return s
}

func writtenOutcome(o wire.RouteOutcome, w wire.RouteChange) wire.RouteResult {
	switch {
	case o.Err != nil:
		refusal := answerTo(o.Err)
		return wire.RouteResult{Status: refusal.StatusCode, Error: &wire.ErrorDetail{Code: refusal.Code, Message: refusal.Message}}
	case w.Create != nil:
		return wire.RouteResult{Status: http.StatusCreated, Route: &o.Route}
	}
	return wire.RouteResult{Status: http.StatusOK, Route: &o.Route}
}
