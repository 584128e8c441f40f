package simulator

import (
	"context"
	"net/http"
)

func (c *Cloud) routeEndpoints() []endpoint {
	one := "/routes/{id}"
	name := func(r Route) string { return r.Name }
	return []endpoint{
		{http.MethodGet, "/routes", ListRoutes, listing(c, c.routes, showRoutes, "tag")},
		{http.MethodPost, "/routes", CreateRoute, creating(name, c.createRoute)},
		{http.MethodPost, "/routes/changes", ChangeRoutes, c.readRouteChanges},
		{http.MethodGet, one, GetRoute, onOne(c.route)},
		{http.MethodDelete, one, DeleteRoute, withoutBody(onOne(c.deleteRoute))},
	}
}

func showRoutes(rows []*Route, next string) any {
	list := RouteList{Items: []Route{}, Continue: next}
	for _, r := range rows {
		list.Items = append(list.Items, *r)
	}
	return list
}

func (c *Cloud) readRouteChanges(_ *http.Request, body []byte) (operation, error) {
	wanted, err := decodeRequest[routeChanges](body)
	if err == nil {
		err = wanted.check(c.pageSize)
	}
	run := func(ctx context.Context, v view) (reply, error) {
		outcomes, err := c.changeRoutes(ctx, wanted.Changes, v)
		var answer routeOutcomes
		for n, o := range outcomes {
			answer.Outcomes = append(answer.Outcomes, o.written(wanted.Changes[n]))
		}
		return reply{http.StatusOK, answer}, err
	}
	return operation{about: wanted.about(), run: run}, err
}
