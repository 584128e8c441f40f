package simulator

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// RouteQuery selects the routes that have one of the IDs or one of the names,
// and all of the tags. The number of IDs and names together must not exceed the
// cloud's page size.
type RouteQuery struct {
	IDs   []string
	Names []string
	Tags  map[string]string
}

// Routes lists all routes, page by page.
func (c *Client) Routes(ctx context.Context) ([]Route, error) {
	return c.listRoutes(ctx, url.Values{})
}

// FindRoutes lists the routes that the query selects. An empty query selects
// none.
func (c *Client) FindRoutes(ctx context.Context, q RouteQuery) ([]Route, error) {
	query := selection(q.IDs, q.Names, q.Tags)
	if query == nil {
		return nil, nil
	}
	return c.listRoutes(ctx, query)
}

func (c *Client) listRoutes(ctx context.Context, query url.Values) ([]Route, error) {
	return listAll[Route](ctx, c, "/routes", query)
}

// Route returns one route.
func (c *Client) Route(ctx context.Context, id string) (Route, error) {
	var r Route
	err := c.do(ctx, http.MethodGet, c.routePath(id), nil, &r)
	return r, err
}

// CreateRoute creates a route. ID and Created must be empty, because the cloud decides
// them. State must be empty, too, but a route without a target may have the state
// RouteBlackhole. If the name belongs to another route, IsAlreadyExists reports true
// for the error.
func (c *Client) CreateRoute(ctx context.Context, r Route) (Route, error) {
	var created Route
	err := c.do(ctx, http.MethodPost, c.path+"/routes", r, &created)
	return created, err
}

// DeleteRoute deletes a route.
func (c *Client) DeleteRoute(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, c.routePath(id), nil, nil)
}

// ChangeRoutes creates and deletes routes in one call. The number of changes
// must not exceed MaxRouteChanges. The changes are made one after the other. A
// failed change does not stop the later ones. ChangeRoutes returns one outcome
// for each change, in the same order. If it returns an error, there are no
// outcomes.
func (c *Client) ChangeRoutes(ctx context.Context, changes []RouteChange) ([]RouteOutcome, error) {
	var answer wire.RouteOutcomes
	if err := c.do(ctx, http.MethodPost, c.path+"/routes/changes", wire.RouteChanges{Changes: changes}, &answer); err != nil {
		return nil, err
	}
	if len(answer.Outcomes) != len(changes) {
		err := fmt.Errorf("the cloud answered %d outcomes to %d changes", len(answer.Outcomes), len(changes))
		return nil, &url.Error{Op: http.MethodPost, URL: c.path + "/routes/changes", Err: err}
	}
	outcomes := make([]RouteOutcome, len(changes))
	for n, o := range answer.Outcomes {
		outcomes[n] = readOutcome(o)
	}
	return outcomes, nil
}

func (c *Client) routePath(id string) string { return c.path + "/routes/" + url.PathEscape(id) }

// readOutcome converts the cloud's answer about one change.
func readOutcome(r wire.RouteResult) RouteOutcome {
	switch {
	case r.Error != nil:
		return RouteOutcome{Err: &APIError{StatusCode: r.Status, Code: r.Error.Code, Message: r.Error.Message}}
	case r.Route != nil:
		return RouteOutcome{Route: *r.Route}
	}
	return RouteOutcome{Err: &APIError{StatusCode: r.Status, Message: "the outcome has neither a route nor an error"}}
}
