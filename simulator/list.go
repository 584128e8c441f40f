package simulator

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// listQuery is which page of which resources is asked for.
type listQuery struct {
	about subject // nobody in particular means all
	limit int
	after string // the last ID of the page before
}

// readListQuery reads the parameters of a list, which also takes the extra
// ones.
func (c *Cloud) readListQuery(raw string, extra []string) (listQuery, error) {
	q := listQuery{limit: c.pageSize}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q, invalid("query", "%v", err)
	}
	for parameter := range values {
		if err := q.set(parameter, values[parameter], extra); err != nil {
			return q, err
		}
	}
	q.limit = min(q.limit, c.pageSize)
	if n := len(q.about.ids) + len(q.about.names); n > c.pageSize {
		return q, invalid("ids", "%d IDs and names are asked for; a page has %d", n, c.pageSize)
	}
	return q, nil
}

func (q *listQuery) set(parameter string, values, extra []string) error {
	value := values[0]
	switch {
	case parameter == "limit":
		limit, err := strconv.Atoi(value)
		if err != nil || limit < 1 {
			return invalid(parameter, "%q is no positive number", value)
		}
		q.limit = limit
	case parameter == "continue":
		after, err := base64.RawURLEncoding.DecodeString(value)
		if err != nil || len(after) == 0 {
			return invalid(parameter, "%q was not given by this cloud", value)
		}
		q.after = string(after)
	case parameter == "ids":
		q.about.ids = strings.Split(value, ",")
	case parameter == "name", parameter == "names":
		q.about.names = append(q.about.names, strings.Split(value, ",")...)
	case parameter == "tag" && slices.Contains(extra, parameter):
		return q.setTags(values)
	default:
		takes := append([]string{"limit", "continue", "ids", "names"}, extra...)
		return invalid(parameter, "is no parameter of this list; it takes %s and name", strings.Join(takes, ", "))
	}
	return nil
}

func (q *listQuery) setTags(values []string) error {
	q.about.tags = map[string]string{}
	for _, value := range values {
		key, value, ok := strings.Cut(value, "=")
		if !ok || key == "" {
			return invalid("tag", "must be KEY=VALUE")
		}
		if has, ok := q.about.tags[key]; ok && has != value {
			return invalid("tag", "%s cannot be both %q and %q", key, has, value)
		}
		q.about.tags[key] = value
	}
	return nil
}

// listing reads a request for a page, which also takes the extra parameters.
func listing[T resource](c *Cloud, of *table[T], show func(rows []*T, next string) any, extra ...string) reader {
	return func(r *http.Request, _ []byte) (operation, error) {
		query, err := c.readListQuery(r.URL.RawQuery, extra)
		run := func(ctx context.Context, v view) (reply, error) {
			return reply{http.StatusOK, show(page(ctx, c, of, query, v))}, nil
		}
		return operation{about: query.about, run: run}, err
	}
}

// page is one page of a table, as a caller sees it, and what asks for the next.
func page[T resource](ctx context.Context, c *Cloud, of *table[T], q listQuery, v view) (rows []*T, next string) {
	asked := q.about.filter()
	more := false
	look(ctx, c, of, v, func(t *table[T]) {
		for _, row := range t.after(q.after) {
			i := (*row).identity()
			if !asked(i) || v.leavesOut(i) {
				continue
			}
			if len(rows) == q.limit {
				more = true
				return
			}
			rows = append(rows, row)
		}
	})
	if left := v.cut(len(rows)); left < len(rows) {
		rows = rows[:left]
		more = false
	}
	if more {
		next = base64.RawURLEncoding.EncodeToString([]byte((*rows[len(rows)-1]).identity().id))
	}
	return rows, next
}
