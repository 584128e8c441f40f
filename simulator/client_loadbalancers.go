package simulator

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// LoadBalancerQuery selects the load balancers that have one of the IDs or one of
// the names, and all of the tags. The number of IDs and names together must not
// exceed the cloud's page size.
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

// SetBackends gives several load balancers the same backends in one call. The number
// of names must not exceed MaxSharedBackends. The returned slice has an error or nil
// for each name, in the same order. If the whole call fails, the slice is nil.
func (c *Client) SetBackends(ctx context.Context, wanted SharedBackends) (each []error, err error) {
	var answer wire.BackendOutcomes
	if err := c.do(ctx, http.MethodPost, c.path+"/load-balancers/backends", wanted, &answer); err != nil {
		return nil, err
	}
	if len(answer.Outcomes) != len(wanted.Names) {
		err := fmt.Errorf("the cloud answered %d outcomes for %d load balancers", len(answer.Outcomes), len(wanted.Names))
		return nil, &url.Error{Op: http.MethodPost, URL: c.path + "/load-balancers/backends", Err: err}
	}
	each = make([]error, len(wanted.Names))
	for n, o := range answer.Outcomes {
		if o.Error != nil {
			each[n] = &APIError{StatusCode: o.Status, Code: o.Error.Code, Message: o.Error.Message}
		}
	}
	return each, nil
}

// DeleteLoadBalancer deletes a load balancer and cuts its connections. A
// static IP that it used is kept.
func (c *Client) DeleteLoadBalancer(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, c.loadBalancerPath(id), nil, nil)
}

func (c *Client) loadBalancerPath(id string) string {
	return c.path + "/load-balancers/" + url.PathEscape(id)
}
