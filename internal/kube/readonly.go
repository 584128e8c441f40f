package kube

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/transport"
)

// ErrReadOnly is the error of a request that a read-only client does not send.
var ErrReadOnly = errors.New("this client only reads")

// ReadOnly makes a client read-only. If a request could change something, the client
// does not send it, but calls the given function and returns ErrReadOnly. Several
// goroutines may call the function at the same time.
func ReadOnly(refused func(request string)) transport.WrapperFunc {
	return func(next http.RoundTripper) http.RoundTripper { return readOnly{next, refused} }
}

type readOnly struct {
	next    http.RoundTripper
	refused func(request string)
}

// RoundTrip implements http.RoundTripper.
func (r readOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if onlyReads(req) {
		return r.next.RoundTrip(req)
	}
	if req.Body != nil {
		_ = req.Body.Close() // RoundTripper's contract asks for the Close, even if nothing was sent.
	}
	what := req.Method + " " + req.URL.Path
	r.refused(what)
	return nil, fmt.Errorf("%w: %s was not sent", ErrReadOnly, what)
}

// WrappedRoundTripper returns the transport that r wraps, so that the client can close
// its connections.
func (r readOnly) WrappedRoundTripper() http.RoundTripper { return r.next }

// TellDenied makes a client call a function for each request that the API server
// answers with 403. Several goroutines may call the function at the same time.
func TellDenied(tell func(request string)) transport.WrapperFunc {
	return func(next http.RoundTripper) http.RoundTripper { return tellDenied{next, tell} }
}

type tellDenied struct {
	next http.RoundTripper
	tell func(request string)
}

// RoundTrip implements http.RoundTripper.
func (t tellDenied) RoundTrip(req *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(req)
	if err == nil && response.StatusCode == http.StatusForbidden {
		t.tell(req.Method + " " + req.URL.Path)
	}
	return response, err
}

// WrappedRoundTripper returns the transport that t wraps, so that the client can close
// its connections.
func (t tellDenied) WrappedRoundTripper() http.RoundTripper { return t.next }

var infos = request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// commands has the subresources with which even a GET can change something, because the
// request goes on to a pod, a node or a service.
var commands = []string{"attach", "exec", "portforward", "proxy"}

// onlyReads reports whether a request changes nothing. Such a request gets, lists or
// watches objects, or is a review of the identity or the rights of a user.
func onlyReads(req *http.Request) bool {
	info, err := infos.NewRequestInfo(req)
	if err != nil || req.Header.Get("Upgrade") != "" {
		return false
	}
	switch info.Verb {
	case "get", "list", "watch", "head":
		return !slices.Contains(commands, info.Subresource)
	case "create":
		return slices.Contains([]string{"authentication.k8s.io", "authorization.k8s.io"}, info.APIGroup) && strings.HasSuffix(info.Resource, "reviews")
	default:
		return false
	}
}
