package quirks

import (
	"context"
	"strings"

	cloudprovider "k8s.io/cloud-provider"
)

// routes is a Routes with one quirk. Its functions replace two methods.
type routes struct {
	cloudprovider.Routes

	list   func(ctx context.Context, cluster string) ([]*cloudprovider.Route, error)
	remove func(ctx context.Context, cluster string, route *cloudprovider.Route) error
}

func (r routes) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	return r.list(ctx, cluster)
}

func (r routes) DeleteRoute(ctx context.Context, cluster string, route *cloudprovider.Route) error {
	return r.remove(ctx, cluster, route)
}

// ListsTwoTables lists each route twice, as if there were two tables with the same
// content. The routes of the second table have other names. AWS does so with one table
// for each subnet. If a route is deleted from one table, both tables lose it.
var ListsTwoTables = Quirk{Name: "ListsTwoTables", apply: func(p *Provider) {
	if p.routes == nil {
		return
	}
	const second = "second/" // begins the names of the routes in the second table
	inner := p.routes
	p.routes = routes{
		Routes: inner,
		list: func(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
			table, err := inner.ListRoutes(ctx, cluster)
			if err != nil {
				return nil, err
			}
			both := table
			for _, route := range table {
				other := *route
				other.Name = second + route.Name
				both = append(both, &other)
			}
			return both, nil
		},
		remove: func(ctx context.Context, cluster string, route *cloudprovider.Route) error {
			first := *route
			first.Name = strings.TrimPrefix(route.Name, second)
			return inner.DeleteRoute(ctx, cluster, &first)
		},
	}
}}
