package simulator

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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

// onOne reads a request that says nothing but which instance it is about.
func onOne(do func(context.Context, string, view) (Instance, error)) reader {
	return func(r *http.Request, _ []byte) (operation, error) {
		id := r.PathValue("id")
		run := func(ctx context.Context, v view) (reply, error) {
			i, err := do(ctx, id, v)
			return reply{http.StatusOK, i}, err
		}
		return operation{about: subject{ids: []string{id}}, run: run}, nil
	}
}

// withoutBody answers only that it was done.
func withoutBody(read reader) reader {
	return func(r *http.Request, body []byte) (operation, error) {
		op, err := read(r, body)
		run := func(ctx context.Context, v view) (reply, error) {
			_, err := op.run(ctx, v)
			return reply{status: http.StatusNoContent}, err
		}
		return operation{about: op.about, run: run}, err
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
		return reply{http.StatusOK, c.listInstances(ctx, query, v)}, nil
	}
	return operation{about: query.about, run: run}, err
}

// listQuery is which page of which instances is asked for.
type listQuery struct {
	about subject // nobody in particular means all
	limit int
	after string // the last ID of the page before
}

func (c *Cloud) readListQuery(raw string) (listQuery, error) {
	q := listQuery{limit: c.pageSize}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, invalid("query", "%v", err)
	}
	for parameter := range values {
		value := values.Get(parameter)
		switch parameter {
		case "limit":
			limit, err := strconv.Atoi(value)
			if err != nil || limit < 1 {
				return q, invalid(parameter, "%q is no positive number", value)
			}
			q.limit = min(limit, c.pageSize)
		case "continue":
			after, err := base64.RawURLEncoding.DecodeString(value)
			if err != nil || len(after) == 0 {
				return q, invalid(parameter, "%q was not given by this cloud", value)
			}
			q.after = string(after)
		case "ids":
			q.about.ids = strings.Split(value, ",")
		case "name", "names":
			q.about.names = append(q.about.names, strings.Split(value, ",")...)
		default:
			return q, invalid(parameter, "is no parameter of this list; it takes limit, continue, ids, names and name")
		}
	}
	if n := len(q.about.ids) + len(q.about.names); n > c.pageSize {
		return q, invalid("ids", "%d IDs and names are asked for; a page has %d", n, c.pageSize)
	}
	return q, nil
}

// listInstances is one page, as a caller sees it.
func (c *Cloud) listInstances(ctx context.Context, q listQuery, v view) InstanceList {
	asked := q.about.filter()
	page := InstanceList{Items: []Instance{}}
	more := false
	c.look(ctx, v, func(t *table[machine]) {
		for _, m := range t.after(q.after) {
			if !asked(m) || v.leavesOut(m) {
				continue
			}
			if len(page.Items) == q.limit {
				more = true
				return
			}
			page.Items = append(page.Items, m.Instance)
		}
	})
	if left := v.cut(len(page.Items)); left < len(page.Items) {
		page.Items = page.Items[:left]
		more = false
	}
	if more {
		page.Continue = base64.RawURLEncoding.EncodeToString([]byte(page.Items[len(page.Items)-1].ID))
	}
	return page
}
