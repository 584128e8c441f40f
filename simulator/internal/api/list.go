package api

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/internal/view"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// listQuery is a state.Query that is being read.
type listQuery struct{ state.Query }

// readListQuery parses the parameters of a request for a list. It accepts the
// parameters that all lists have, and those that the argument extra names.
func (s *Server) readListQuery(raw string, extra []string) (state.Query, error) {
	q := listQuery{state.Query{Limit: s.pageSize}}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return q.Query, input.Invalid("query", "%v", err)
	}
	for parameter := range values {
		if err := q.set(parameter, values[parameter], extra); err != nil {
			return q.Query, err
		}
	}
	q.Limit = min(q.Limit, s.pageSize)
	if n := len(q.About.IDs) + len(q.About.Names); n > s.pageSize {
		return q.Query, input.Invalid("ids", "%d IDs and names are asked for; a page has %d", n, s.pageSize)
	}
	return q.Query, nil
}

func (q *listQuery) set(parameter string, values, extra []string) error {
	value := values[0]
	switch {
	case parameter == "limit":
		limit, err := strconv.Atoi(value)
		if err != nil || limit < 1 {
			return input.Invalid(parameter, "%q is not a positive number", value)
		}
		q.Limit = limit
	case parameter == "continue":
		after, err := base64.RawURLEncoding.DecodeString(value)
		if err != nil || len(after) == 0 {
			return input.Invalid(parameter, "%q was not given by this cloud", value)
		}
		q.After = string(after)
	case parameter == "ids":
		q.About.IDs = strings.Split(value, ",")
	case parameter == "name", parameter == "names":
		q.About.Names = append(q.About.Names, strings.Split(value, ",")...)
	case parameter == "tag" && slices.Contains(extra, parameter):
		return q.setTags(values)
	default:
		takes := append([]string{"limit", "continue", "ids", "names"}, extra...)
		return input.Invalid(parameter, "is not a parameter of this list; it takes %s and name", strings.Join(takes, ", "))
	}
	return nil
}

func (q *listQuery) setTags(values []string) error {
	q.About.Tags = map[string]string{}
	for _, value := range values {
		key, value, ok := strings.Cut(value, "=")
		if !ok || key == "" {
			return input.Invalid("tag", "must be KEY=VALUE")
		}
		if has, ok := q.About.Tags[key]; ok && has != value {
			return input.Invalid("tag", "%s cannot be both %q and %q", key, has, value)
		}
		q.About.Tags[key] = value
	}
	return nil
}

// lister returns a page of resources of one kind. If there are more pages, it also
// returns the last ID on this page.
type lister[T any] func(context.Context, state.Query, state.Distortions) (items []T, next string)

// listing returns the reader for requests for a page of a list. For the argument extra,
// see readListQuery.
func listing[T any](s *Server, list lister[T], extra ...string) reader {
	return func(r *http.Request, _ []byte) (operation, error) {
		query, err := s.readListQuery(r.URL.RawQuery, extra)
		run := func(ctx context.Context, v state.Distortions) (reply, error) {
			items, next := list(ctx, query, v)
			return reply{http.StatusOK, wire.List[T]{Items: items, Continue: base64.RawURLEncoding.EncodeToString([]byte(next))}}, nil
		}
		return operation{about: query.About, run: run}, err
	}
}

// collection returns the collection with all resources of one kind. Its name is that of
// the path.
func collection[T any](path string, list lister[T]) view.Collection {
	return view.Collection{Name: strings.TrimPrefix(path, "/"), All: func(ctx context.Context) any {
		items, _ := list(ctx, state.Query{}, state.Distortions{})
		return wire.List[T]{Items: items}
	}}
}

// maxRequest is the maximum size of a body, in bytes. It is far above what any
// request needs.
const maxRequest = 4 << 20

// endpoint is one call of the cloud's API.
type endpoint struct {
	method, path string // the path is below /v1
	call         wire.Call
	read         reader
}

// reader parses a request and its body. It changes nothing.
type reader func(r *http.Request, body []byte) (operation, error)

// onOne returns the reader for requests that have no body and name one resource.
func onOne[T any](do func(context.Context, string, state.Distortions) (T, error)) reader {
	return func(r *http.Request, _ []byte) (operation, error) {
		id := r.PathValue("id")
		run := func(ctx context.Context, v state.Distortions) (reply, error) {
			answer, err := do(ctx, id, v)
			return reply{http.StatusOK, answer}, err
		}
		return operation{about: state.Subject{IDs: []string{id}}, run: run}, nil
	}
}

// creating returns the reader for requests that create a resource with a name.
func creating[T, A any](name func(T) string, do func(context.Context, T) (A, error)) reader {
	return func(_ *http.Request, body []byte) (operation, error) {
		wanted, err := input.Decode[T](body)
		run := func(ctx context.Context, _ state.Distortions) (reply, error) {
			created, err := do(ctx, wanted)
			return reply{http.StatusCreated, created}, err
		}
		return operation{about: state.Subject{Names: []string{name(wanted)}}, run: run}, err
	}
}

// patching returns the reader for requests that change one resource.
func patching[P, A any](do func(context.Context, string, P, state.Distortions) (A, error)) reader {
	return func(r *http.Request, body []byte) (operation, error) {
		id := r.PathValue("id")
		patch, err := input.Decode[P](body)
		run := func(ctx context.Context, v state.Distortions) (reply, error) {
			patched, err := do(ctx, id, patch, v)
			return reply{http.StatusOK, patched}, err
		}
		return operation{about: state.Subject{IDs: []string{id}}, run: run}, err
	}
}

// withoutBody wraps a reader so that the answer to a successful request has no body.
func withoutBody(read reader) reader {
	return func(r *http.Request, body []byte) (operation, error) {
		op, err := read(r, body)
		run := func(ctx context.Context, v state.Distortions) (reply, error) {
			_, err := op.run(ctx, v)
			return reply{status: http.StatusNoContent}, err
		}
		return operation{about: op.about, run: run}, err
	}
}

// operation is a parsed request.
type operation struct {
	about state.Subject
	run   func(context.Context, state.Distortions) (reply, error)
}

// reply is the answer to a call that succeeded.
type reply struct {
	status int
	body   any // nil for none
}

// understand reads the whole request and parses it. It reads to the end, because
// an http.Server does not notice that its client goes away until the body has
// been read. A request that cannot be parsed becomes an operation that fails.
func understand(w http.ResponseWriter, r *http.Request, read reader) operation {
	var op operation
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		err = input.Invalid("body", "%v", err)
	} else {
		op, err = read(r, body)
	}
	if err != nil {
		op.run = func(context.Context, state.Distortions) (reply, error) { return reply{}, err }
	}
	return op
}
