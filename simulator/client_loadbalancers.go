package simulator

import (
	"context"
	"net/http"
	"net/url"
)

// LoadBalancerQuery selects load balancers: those that have one of the IDs or
// one of the names, and all of the tags. The number of IDs and names together
// must not exceed the cloud's page size.
type LoadBalancerQuery struct {
	IDs   []string
	Names []string
	Tags  map[string]string
}

// LoadBalancers lists all load balancers, page by page.
func (c *Client) LoadBalancers(ctx context.Context) ([]LoadBalancer, error) {
	return c.listLoadBalancers(ctx, url.Values{})
}

// FindLoadBalancers lists the load balancers that the query selects. An empty
// query selects none.
func (c *Client) FindLoadBalancers(ctx context.Context, q LoadBalancerQuery) ([]LoadBalancer, error) {
	query := selection(q.IDs, q.Names, q.Tags)
	if query == nil {
		return nil, nil
	}
	return c.listLoadBalancers(ctx, query)
}

func (c *Client) listLoadBalancers(ctx context.Context, query url.Values) ([]LoadBalancer, error) {
	return listAll[LoadBalancer](ctx, c, "/load-balancers", query)
}

// LoadBalancer returns one load balancer.
func (c *Client) LoadBalancer(ctx context.Context, id string) (LoadBalancer, error) {
	var l LoadBalancer
	err := c.do(ctx, http.MethodGet, c.loadBalancerPath(id), nil, &l)
	return l, err
}

// CreateLoadBalancer creates a load balancer. ID, State and Address must be
// empty, because the cloud decides them.
func (c *Client) CreateLoadBalancer(ctx context.Context, l LoadBalancer) (LoadBalancer, error) {
	var created LoadBalancer
	err := c.do(ctx, http.MethodPost, c.path+"/load-balancers", l, &created)
	return created, err
}

// UpdateLoadBalancer changes a load balancer.
func (c *Client) UpdateLoadBalancer(ctx context.Context, id string, patch LoadBalancerPatch) (LoadBalancer, error) {
	var updated LoadBalancer
	err := c.do(ctx, http.MethodPatch, c.loadBalancerPath(id), patch, &updated)
	return updated, err
}

// DeleteLoadBalancer deletes a load balancer and cuts its connections. A
// static IP that it used is kept.
func (c *Client) DeleteLoadBalancer(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, c.loadBalancerPath(id), nil, nil)
}

func (c *Client) loadBalancerPath(id string) string {
	return c.path + "/load-balancers/" + url.PathEscape(id)
}
