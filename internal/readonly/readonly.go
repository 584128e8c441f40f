// Package readonly makes clients of the API server that cannot change anything.
package readonly

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"k8s.io/client-go/transport"
)

// Err is the error of a request that a read-only client does not send.
var Err = errors.New("this client only reads")

// Wrap makes a client read-only. If a request could change something, the client
// does not send it, but calls the given function and returns Err. Several
// goroutines may call the function at the same time.
func Wrap(refused func(request string)) transport.WrapperFunc {
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
	return nil, fmt.Errorf("%w: %s was not sent", Err, what)
}

// WrappedRoundTripper returns the transport that r wraps, so that the client can close
// its connections.
func (r readOnly) WrappedRoundTripper() http.RoundTripper { return r.next }

// commands has the subresources with which even a GET can change something, because the
// request goes on to a pod, a node or a service.
var commands = []string{"attach", "exec", "portforward", "proxy"}

// onlyReads reports whether a request changes nothing. Such a request gets, lists or
// watches objects, or is a review of the identity or the rights of a user.
func onlyReads(req *http.Request) bool {
	if req.Header.Get("Upgrade") != "" {
		return false
	}
	group, parts := split(req.URL.Path)
	switch req.Method {
	case http.MethodGet, http.MethodHead:
		const subresource = 2 // after the resource and the name
		legacy := len(parts) > 0 && parts[0] == "proxy"
		return !legacy && (len(parts) <= subresource || !slices.Contains(commands, parts[subresource]))
	case http.MethodPost:
		return len(parts) == 1 && slices.Contains([]string{"authentication.k8s.io", "authorization.k8s.io"}, group) && strings.HasSuffix(parts[0], "reviews")
	default:
		return false
	}
}

// split returns the API group of a path, and the rest of the path: the resource, the name
// and the subresource. The namespace is left out. If the path is not that of a resource,
// the rest is empty.
func split(path string) (group string, parts []string) {
	parts = strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		parts = parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		group, parts = parts[1], parts[3:]
	default:
		return "", nil
	}
	if parts[0] == "watch" { // the former path of a watch
		parts = parts[1:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		parts = parts[2:]
	}
	return group, parts
}
