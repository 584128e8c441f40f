package api

import (
	"encoding/json"
	"errors"
	"math"
	"net"
	"net/http"
	"strconv"

	"k8s.io/klog/v2"

	"github.com/fairlead-k8s/fairlead/simulator/internal/input"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

// These errors say why a call gets no answer.
var (
	errGone      = errors.New("the caller went away")
	errReset     = errors.New("the connection was reset on purpose")
	errReplyLost = errors.New("the reply was lost on purpose")
)

// result returns the Result of a CallRecord for a call that ended with err.
func result(err error) string {
	switch {
	case err == nil:
		return wire.ResultOK
	case errors.Is(err, errGone):
		return wire.ResultGone
	case errors.Is(err, errReset):
		return wire.ResultReset
	case errors.Is(err, errReplyLost):
		return wire.ResultReplyLost
	default:
		return answerTo(err).Code
	}
}

// status returns the HTTP status of the answer; 0 if there is no answer.
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
		body = wire.ErrorBody{Error: wire.ErrorDetail{Code: refusal.Code, Message: refusal.Message}}
	}
	if body == nil {
		w.WriteHeader(code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		klog.FromContext(r.Context()).V(4).Info("Answer not written", "err", err)
	}
}

// cut closes the connection without an answer. If the reason is errReset, it sends a
// TCP reset.
func cut(w http.ResponseWriter, r *http.Request, why error) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the server's own way to cut a connection
	}
	if tcp, ok := conn.(*net.TCPConn); ok && errors.Is(why, errReset) {
		err = tcp.SetLinger(0)
	}
	if err := errors.Join(err, conn.Close()); err != nil {
		klog.FromContext(r.Context()).V(4).Info("Connection not cut", "err", err)
	}
}

// answerTo returns the cloud's answer to a call that failed with err.
func answerTo(err error) *wire.APIError {
	var answered *wire.APIError
	var input *input.Error
	switch {
	case errors.As(err, &answered):
		return answered
	case errors.As(err, &input):
		return &wire.APIError{StatusCode: http.StatusBadRequest, Code: wire.CodeInvalid, Message: err.Error()}
	default:
		return &wire.APIError{StatusCode: http.StatusInternalServerError, Code: wire.CodeInternal, Message: err.Error()}
	}
}
