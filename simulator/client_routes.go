package simulator

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// RouteQuery selects routes: those with one of the IDs or one of the names, as
// far as they have all the tags. IDs and names together must not be more than a
// page of the cloud.
type RouteQuery struct {
	IDs   []string
	Names []string
	Tags  map[string]string
}

// Routes lists all routes, page by page.
func (c *Client) Routes(ctx context.Context) ([]Route, error) {
	return c.listRoutes(ctx, url.Values{})
}

// FindRoutes lists the routes that the query selects; without anything in it,
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

// CreateRoute creates a route. ID, State and Created must be empty, because
// the cloud decides them; a route without a target can be made as a blackhole. If
// the name belongs to another route the error is IsAlreadyExists.
func (c *Client) CreateRoute(ctx context.Context, r Route) (Route, error) {
	var created Route
	err := c.do(ctx, http.MethodPost, c.path+"/routes", r, &created)
	return created, err
}

// DeleteRoute deletes a route.
func (c *Client) DeleteRoute(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, c.routePath(id), nil, nil)
}

// ChangeRoutes creates and deletes routes in one call, of at most a page of the
// cloud. The changes are made one after the other, and what becomes of one has
// no effect on the others. There is one outcome for each change, in their order;
// an error is about all of them.
func (c *Client) ChangeRoutes(ctx context.Context, changes []RouteChange) ([]RouteOutcome, error) {
	var answer wire.RouteOutcomes
	if err := c.do(ctx, http.MethodPost, c.path+"/routes/changes", wire.RouteChanges{Changes: changes}, &answer); err != nil {
		return nil, err
	}
	if len(answer.Outcomes) != len(changes) {
		err := fmt.Errorf("%d changes were asked for, and %d outcomes answered", len(changes), len(answer.Outcomes))
		return nil, &url.Error{Op: http.MethodPost, URL: c.base + c.path + "/routes/changes", Err: err}
	}
	outcomes := make([]RouteOutcome, len(changes))
	for n, o := range answer.Outcomes {
		outcomes[n] = readOutcome(o)
	}
	return outcomes, nil
}

func (c *Client) routePath(id string) string { return c.path + "/routes/" + url.PathEscape(id) }

// readOutcome is what the cloud answered about one change.
func readOutcome(r wire.RouteResult) RouteOutcome {
	switch {
	case r.Error != nil:
		return RouteOutcome{Err: &APIError{StatusCode: r.Status, Code: r.Error.Code, Message: r.Error.Message}}
	case r.Route != nil:
		return RouteOutcome{Route: *r.Route}
	}
	return RouteOutcome{Err: &APIError{StatusCode: r.Status, Message: "the outcome has neither a route nor an error"}}
}
