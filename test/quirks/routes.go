package quirks

import (
	"context"

	cloudprovider "k8s.io/cloud-provider"
)

type routes struct {
	cloudprovider.Routes

	list func(ctx context.Context, cluster string) ([]*cloudprovider.Route, error)
}

func (r routes) ListRoutes(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
	return r.list(ctx, cluster)
}

// ListsTwoTables lists the routes of two tables that have the same content, one
// after the other, as AWS does with one table for each subnet.
var ListsTwoTables = Quirk{Name: "ListsTwoTables", apply: func(p *Provider) {
	if p.routes == nil {
		return
	}
	inner := p.routes
	p.routes = routes{Routes: inner, list: func(ctx context.Context, cluster string) ([]*cloudprovider.Route, error) {
		table, err := inner.ListRoutes(ctx, cluster)
		if err != nil {
			return nil, err
		}
		both := table
		for _, route := range table {
			other := *route
			both = append(both, &other)
		}
		return both, nil
	}}
}}
