package simulator

import (
	"fmt"
	"net/http"
)

// RouteChange is the creation or the deletion of one route.
type RouteChange struct {
	Create *Route `json:"create,omitempty"`
	// Delete is the ID of a route.
	Delete string `json:"delete,omitempty"`
}

// RouteOutcome is what became of a RouteChange: the route that was created or
// deleted, or an error, which is an *APIError.
type RouteOutcome struct {
	Route Route
	Err   error
}

// routeChanges is how a request for several changes is written.
type routeChanges struct {
	Changes []RouteChange `json:"changes"`
}

// check refuses what cannot be understood, as a whole.
func (w routeChanges) check(most int) error {
	if n := len(w.Changes); n == 0 || n > most {
		return invalid("changes", "%d are asked for; a call takes 1 to %d", n, most)
	}
	for n, c := range w.Changes {
		if (c.Create == nil) == (c.Delete == "") {
			return invalid(fmt.Sprintf("changes[%d]", n), "must have either create or delete")
		}
	}
	return nil
}

// about is what the changes are about.
func (w routeChanges) about() subject {
	var s subject
	for _, c := range w.Changes {
		if c.Create != nil {
			s.names = append(s.names, c.Create.Name)
		} else {
			s.ids = append(s.ids, c.Delete)
		}
	}
	return s
}

// routeOutcomes is how the answer is written, in the order of the changes.
type routeOutcomes struct {
	Outcomes []routeOutcome `json:"outcomes"`
}

// routeOutcome has the status that the change would have been answered with if
// it had been asked for alone.
type routeOutcome struct {
	Status int          `json:"status"`
	Route  *Route       `json:"route,omitempty"`
	Error  *errorDetail `json:"error,omitempty"`
}

func (o RouteOutcome) written(w RouteChange) routeOutcome {
	switch {
	case o.Err != nil:
		refusal := answerTo(o.Err)
		return routeOutcome{Status: refusal.StatusCode, Error: &errorDetail{Code: refusal.Code, Message: refusal.Message}}
	case w.Create != nil:
		return routeOutcome{Status: http.StatusCreated, Route: &o.Route}
	}
	return routeOutcome{Status: http.StatusOK, Route: &o.Route}
}

func (o routeOutcome) read() RouteOutcome {
	switch {
	case o.Error != nil:
		return RouteOutcome{Err: &APIError{StatusCode: o.Status, Code: o.Error.Code, Message: o.Error.Message}}
	case o.Route != nil:
		return RouteOutcome{Route: *o.Route}
	}
	return RouteOutcome{Err: &APIError{StatusCode: o.Status, Message: "the outcome says neither what was changed nor why not"}}
}
