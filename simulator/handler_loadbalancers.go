package simulator

import (
	"context"
	"net/http"
)

func (c *Cloud) loadBalancerEndpoints() []endpoint {
	one := "/load-balancers/{id}"
	return []endpoint{
		{http.MethodGet, "/load-balancers", ListLoadBalancers, c.readLoadBalancerList},
		{http.MethodPost, "/load-balancers", CreateLoadBalancer, c.readLoadBalancerCreate},
		{http.MethodGet, one, GetLoadBalancer, onOne(c.loadBalancer)},
		{http.MethodPatch, one, UpdateLoadBalancer, c.readLoadBalancerUpdate},
		{http.MethodDelete, one, DeleteLoadBalancer, withoutBody(onOne(c.deleteLoadBalancer))},
	}
}

func (c *Cloud) readLoadBalancerCreate(_ *http.Request, body []byte) (operation, error) {
	wanted, err := decodeRequest[LoadBalancer](body)
	run := func(ctx context.Context, _ view) (reply, error) {
		created, err := c.createLoadBalancer(ctx, wanted)
		return reply{http.StatusCreated, created}, err
	}
	return operation{about: subject{names: []string{wanted.Name}}, run: run}, err
}

func (c *Cloud) readLoadBalancerUpdate(r *http.Request, body []byte) (operation, error) {
	id := r.PathValue("id")
	patch, err := decodeRequest[LoadBalancerPatch](body)
	run := func(ctx context.Context, v view) (reply, error) {
		updated, err := c.updateLoadBalancer(ctx, id, patch, v)
		return reply{http.StatusOK, updated}, err
	}
	return operation{about: subject{ids: []string{id}}, run: run}, err
}

func (c *Cloud) readLoadBalancerList(r *http.Request, _ []byte) (operation, error) {
	query, err := c.readListQuery(r.URL.RawQuery, "tag")
	run := func(ctx context.Context, v view) (reply, error) {
		rows, next := page(ctx, c, c.loadBalancers, query, v)
		list := LoadBalancerList{Items: []LoadBalancer{}, Continue: next}
		for _, b := range rows {
			list.Items = append(list.Items, c.withTraffic(b.shown()))
		}
		return reply{http.StatusOK, list}, nil
	}
	return operation{about: query.about, run: run}, err
}
