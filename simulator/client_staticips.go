package simulator

import (
	"context"
	"net/http"
	"net/url"
)

// StaticIPs lists all static IPs, page by page.
func (c *Client) StaticIPs(ctx context.Context) ([]StaticIP, error) {
	return listAll[StaticIP](ctx, c, "/static-ips", url.Values{})
}

// StaticIP returns one static IP.
func (c *Client) StaticIP(ctx context.Context, id string) (StaticIP, error) {
	var s StaticIP
	err := c.do(ctx, http.MethodGet, c.staticIPPath(id), nil, &s)
	return s, err
}

// CreateStaticIP reserves an address. If s has no address, the cloud chooses one.
// ID and LoadBalancer must be empty.
func (c *Client) CreateStaticIP(ctx context.Context, s StaticIP) (StaticIP, error) {
	var created StaticIP
	err := c.do(ctx, http.MethodPost, c.path+"/static-ips", s, &created)
	return created, err
}

// ReleaseStaticIP releases an address. It fails while a load balancer uses the
// address.
func (c *Client) ReleaseStaticIP(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, c.staticIPPath(id), nil, nil)
}

func (c *Client) staticIPPath(id string) string { return c.path + "/static-ips/" + url.PathEscape(id) }
