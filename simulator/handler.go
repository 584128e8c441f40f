package simulator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator/internal/web"
)

// maxRequest is far above what any request of ours needs.
const maxRequest = 4 << 20

// endpoint is one call of the cloud's API.
type endpoint struct {
	method, path string // the path is below /v1
	call         Call
	read         reader
}

// reader understands a request and its body before anything is done for it.
type reader func(r *http.Request, body []byte) (operation, error)

// onOne reads a request that says nothing but which resource it is about.
func onOne[T any](do func(context.Context, string, view) (T, error)) reader {
	return func(r *http.Request, _ []byte) (operation, error) {
		id := r.PathValue("id")
		run := func(ctx context.Context, v view) (reply, error) {
			answer, err := do(ctx, id, v)
			return reply{http.StatusOK, answer}, err
		}
		return operation{about: subject{ids: []string{id}}, run: run}, nil
	}
}

// creating reads a request to create a resource, which has a name.
func creating[T, A any](name func(T) string, do func(context.Context, T) (A, error)) reader {
	return func(_ *http.Request, body []byte) (operation, error) {
		wanted, err := decodeRequest[T](body)
		run := func(ctx context.Context, _ view) (reply, error) {
			created, err := do(ctx, wanted)
			return reply{http.StatusCreated, created}, err
		}
		return operation{about: subject{names: []string{name(wanted)}}, run: run}, err
	}
}

// patching reads a request to change one resource.
func patching[P, A any](do func(context.Context, string, P, view) (A, error)) reader {
	return func(r *http.Request, body []byte) (operation, error) {
		id := r.PathValue("id")
		patch, err := decodeRequest[P](body)
		run := func(ctx context.Context, v view) (reply, error) {
			patched, err := do(ctx, id, patch, v)
			return reply{http.StatusOK, patched}, err
		}
		return operation{about: subject{ids: []string{id}}, run: run}, err
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

// operation is a request that was understood.
type operation struct {
	about subject
	run   func(context.Context, view) (reply, error)
}

// reply is an answer that is no error.
type reply struct {
	status int
	body   any // nil for none
}

// What becomes of a call without any answer.
var (
	errGone      = errors.New("the caller went away")
	errReset     = errors.New("the connection was reset on purpose")
	errReplyLost = errors.New("the reply was lost on purpose")
)

// newHandler serves each endpoint twice: to customers and to the operator.
func (c *Cloud) newHandler() http.Handler {
	mux := http.NewServeMux()
	for _, k := range c.kinds() {
		for _, e := range k.endpoints {
			mux.Handle(e.method+" "+customerPath+e.path, c.forCustomer(k, e))
			mux.Handle(e.method+" "+operatorPath+e.path, c.forOperator(e.read))
		}
	}
	for pattern, read := range c.operatorEndpoints() {
		mux.Handle(pattern, c.forOperator(read))
	}
	mux.HandleFunc("GET "+operatorPath+"/watch", c.watch)
	page := web.Handler()
	mux.Handle("GET /{$}", page)
	mux.Handle("GET /page/", page)
	mux.Handle("/", c.forOperator(unknownPath))
	return mux
}

func unknownPath(r *http.Request, _ []byte) (operation, error) {
	message := fmt.Sprintf("there is no %s %s in this API", r.Method, r.URL.Path)
	return operation{}, &APIError{StatusCode: http.StatusNotFound, Code: CodeUnknownPath, Message: message}
}

// forCustomer serves a call with all that may befall it, and counts it.
func (c *Cloud) forCustomer(k kind, e endpoint) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		started := c.clock.Now()
		op := understand(w, r, e.read)
		fate := c.faults.decide(e.call, k.identify(r.Context(), op.about), started)
		answer, err := c.carryOut(r.Context(), op, fate)
		record := CallRecord{
			Time:     started,
			Call:     e.call,
			Status:   status(answer, err),
			Result:   result(err),
			Duration: Duration(c.clock.Since(started)),
		}
		k.note(&record, op.about.one())
		// Before the answer, so that whoever has the answer finds the call counted.
		c.meter.record(record)
		c.watchers.wake()
		klog.FromContext(r.Context()).V(4).Info("Call", "call", e.call, k.name, op.about.one(),
			"status", record.Status, "result", record.Result, "duration", record.Duration)
		write(w, r, answer, err)
	}
}

// forOperator serves a request at once and as it is.
func (c *Cloud) forOperator(read reader) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer, err := understand(w, r, read).run(r.Context(), view{})
		c.settled(r.Context())
		if r.Method != http.MethodGet {
			c.watchers.wake()
		}
		write(w, r, answer, err)
	}
}

// understand reads a request to its end; without that a server does not see
// its client go away. What it could not understand is an operation that fails.
func understand(w http.ResponseWriter, r *http.Request, read reader) operation {
	var op operation
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		err = invalid("body", "%v", err)
	} else {
		op, err = read(r, body)
	}
	if err != nil {
		op.run = func(context.Context, view) (reply, error) { return reply{}, err }
	}
	return op
}

// carryOut lets a call meet its fate.
func (c *Cloud) carryOut(ctx context.Context, op operation, f fate) (reply, error) {
	c.wait(ctx, f)
	if ctx.Err() != nil {
		return reply{}, errGone
	}
	switch {
	case f.reset:
		return reply{}, errReset
	case f.answer != nil:
		return reply{}, f.answer
	}
	answer, err := op.run(ctx, f.view)
	c.settled(ctx)
	if f.losesReply {
		return reply{}, errReplyLost
	}
	return answer, err
}

// wait lasts as long as the call is held up, or until its caller goes away.
func (c *Cloud) wait(ctx context.Context, f fate) {
	if f.delay > 0 {
		timer := c.clock.NewTimer(f.delay)
		defer timer.Stop()
		select {
		case <-timer.C():
		case <-ctx.Done():
		}
	}
	for _, cleared := range f.holds {
		select {
		case <-cleared:
		case <-ctx.Done():
		}
	}
}

// result is the error in the words of CallRecord.
func result(err error) string {
	switch {
	case err == nil:
		return ResultOK
	case errors.Is(err, errGone):
		return ResultGone
	case errors.Is(err, errReset):
		return ResultReset
	case errors.Is(err, errReplyLost):
		return ResultReplyLost
	default:
		return answerTo(err).Code
	}
}

// status is what is answered; 0 if nothing is.
func status(answer reply, err error) int {
	switch {
	case err == nil:
		return answer.status
	case errors.Is(err, errGone), errors.Is(err, errReset), errors.Is(err, errReplyLost):
		return 0
	default:
		return answerTo(err).StatusCode
	}
}

func write(w http.ResponseWriter, r *http.Request, answer reply, err error) {
	code := status(answer, err)
	if code == 0 {
		cut(w, r, err)
		return
	}
	body := answer.body
	if err != nil {
		refusal := answerTo(err)
		if refusal.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(refusal.RetryAfter.Seconds()))))
		}
		body = errorBody{Error: errorDetail{Code: refusal.Code, Message: refusal.Message}}
	}
	if body == nil {
		w.WriteHeader(code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		klog.FromContext(r.Context()).V(4).Info("Answer could not be written", "err", err)
	}
}

// cut closes the connection without an answer: with a reset where one is due.
func cut(w http.ResponseWriter, r *http.Request, why error) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the server's own way to cut a connection
	}
	if tcp, ok := conn.(*net.TCPConn); ok && errors.Is(why, errReset) {
		err = tcp.SetLinger(0)
	}
	if err := errors.Join(err, conn.Close()); err != nil {
		klog.FromContext(r.Context()).V(4).Info("Connection could not be cut", "err", err)
	}
}
