package serving

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
)

// FuzzReadReview reads requests of webhooks. The result is always a decoded request
// or an error with status 400, and never a panic.
func FuzzReadReview(f *testing.F) {
	for _, body := range []string{
		reviewRequest,
		"",
		"{",
		"null",
		"[]",
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`,
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}`,
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":1}}`,
		strings.Replace(reviewRequest, "/v1", "/v1beta1", 1),
		reviewRequest + reviewRequest,
	} {
		f.Add("application/json", body)
	}
	f.Add("application/yaml", reviewRequest)
	f.Fuzz(func(t *testing.T, contentType, body string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/a", strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		text, wrong := readBody(r)
		var request *admissionv1.AdmissionRequest
		if wrong == nil {
			request, wrong = decode(text)
		}
		if (request == nil) == (wrong == nil) {
			t.Errorf("got %v and %v", request, wrong)
		}
		if wrong != nil && wrong.status != http.StatusBadRequest {
			t.Errorf("got status %d", wrong.status)
		}
	})
}
