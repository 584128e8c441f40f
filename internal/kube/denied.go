package kube

import (
	"net/http"

	"k8s.io/client-go/transport"
)

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
