package api

import (
	"context"
	"io"
	"net/http"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

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
