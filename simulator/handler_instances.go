package simulator

import (
	"context"
	"net/http"
)

func (c *Cloud) instanceEndpoints() []endpoint {
	one := "/instances/{id}"
	return []endpoint{
		{http.MethodGet, "/instances", ListInstances, c.readList},
		{http.MethodPost, "/instances", CreateInstance, c.readCreate},
		{http.MethodGet, one, GetInstance, onOne(c.instance)},
		{http.MethodPatch, one, UpdateInstance, c.readUpdate},
		{http.MethodPost, one + "/start", StartInstance, onOne(c.startInstance)},
		{http.MethodPost, one + "/stop", StopInstance, onOne(c.stopInstance)},
		{http.MethodDelete, one, TerminateInstance, withoutBody(onOne(c.terminateInstance))},
	}
}

func (c *Cloud) readCreate(_ *http.Request, body []byte) (operation, error) {
	wanted, err := decodeRequest[Instance](body)
	run := func(ctx context.Context, _ view) (reply, error) {
		created, err := c.createInstance(ctx, wanted)
		return reply{http.StatusCreated, created}, err
	}
	return operation{about: subject{names: []string{wanted.Name}}, run: run}, err
}

func (c *Cloud) readUpdate(r *http.Request, body []byte) (operation, error) {
	id := r.PathValue("id")
	patch, err := decodeRequest[InstancePatch](body)
	run := func(ctx context.Context, v view) (reply, error) {
		updated, err := c.updateInstance(ctx, id, patch, v)
		return reply{http.StatusOK, updated}, err
	}
	return operation{about: subject{ids: []string{id}}, run: run}, err
}

func (c *Cloud) readList(r *http.Request, _ []byte) (operation, error) {
	query, err := c.readListQuery(r.URL.RawQuery)
	run := func(ctx context.Context, v view) (reply, error) {
		rows, next := page(ctx, c, c.instances, query, v)
		list := InstanceList{Items: []Instance{}, Continue: next}
		for _, m := range rows {
			list.Items = append(list.Items, m.Instance)
		}
		return reply{http.StatusOK, list}, nil
	}
	return operation{about: query.about, run: run}, err
}
