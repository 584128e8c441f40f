package kube

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// denying answers every request with a status.
type denying int

func (d denying) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: int(d), Body: http.NoBody}, nil
}

func TestTellDenied(t *testing.T) {
	for status, want := range map[int][]string{http.StatusOK: nil, http.StatusNotFound: nil, http.StatusForbidden: {"GET /api/v1/nodes"}} {
		var told []string
		wrapped := TellDenied(func(request string) { told = append(told, request) })(denying(status))
		response, err := wrapped.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/nodes?limit=500", http.NoBody))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != status || !slices.Equal(told, want) {
			t.Errorf("status %d: got %d, told %q, want %q", status, response.StatusCode, told, want)
		}
	}
}
