package simulator

import (
	"context"
	"net/http"
)

func (c *Cloud) staticIPEndpoints() []endpoint {
	one := "/static-ips/{id}"
	return []endpoint{
		{http.MethodGet, "/static-ips", ListStaticIPs, c.readStaticIPList},
		{http.MethodPost, "/static-ips", CreateStaticIP, c.readStaticIPCreate},
		{http.MethodGet, one, GetStaticIP, onOne(c.staticIP)},
		{http.MethodDelete, one, ReleaseStaticIP, withoutBody(onOne(c.releaseStaticIP))},
	}
}

func (c *Cloud) readStaticIPCreate(_ *http.Request, body []byte) (operation, error) {
	wanted, err := decodeRequest[StaticIP](body)
	run := func(ctx context.Context, _ view) (reply, error) {
		created, err := c.createStaticIP(ctx, wanted)
		return reply{http.StatusCreated, created}, err
	}
	return operation{about: subject{names: []string{wanted.Name}}, run: run}, err
}

func (c *Cloud) readStaticIPList(r *http.Request, _ []byte) (operation, error) {
	query, err := c.readListQuery(r.URL.RawQuery)
	run := func(ctx context.Context, v view) (reply, error) {
		rows, next := page(ctx, c, c.staticIPs, query, v)
		return reply{http.StatusOK, StaticIPList{Items: c.shownStaticIPs(rows), Continue: next}}, nil
	}
	return operation{about: query.about, run: run}, err
}
