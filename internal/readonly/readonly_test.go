package readonly

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// sent is a transport that counts what it sends.
type sent int

func (s *sent) RoundTrip(*http.Request) (*http.Response, error) {
	*s++
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func TestReadOnly(t *testing.T) {
	for _, tt := range []struct {
		name, method, path string
		passes             bool
	}{
		{"Get", "GET", "/api/v1/nodes/n", true},
		{"List", "GET", "/api/v1/nodes", true},
		{"Watch", "GET", "/api/v1/nodes?watch=true", true},
		{"Healthz", "GET", "/healthz", true},
		{"Version", "GET", "/version", true},
		{"Log", "GET", "/api/v1/namespaces/a/pods/p/log", true},
		{"WatchOfOld", "GET", "/api/v1/watch/nodes", true},
		{"Namespace", "GET", "/api/v1/namespaces/proxy", true},
		{"StatusOfANamespace", "GET", "/api/v1/namespaces/proxy/status", true},
		{"NamespaceCalledProxy", "GET", "/api/v1/namespaces/proxy/services/exec", true},
		{"SubjectAccessReview", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", true},
		{"SelfSubjectRulesReview", "POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", true},
		{"LocalSubjectAccessReview", "POST", "/apis/authorization.k8s.io/v1/namespaces/a/localsubjectaccessreviews", true},
		{"TokenReview", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", true},
		{"ReviewOfAnotherGroup", "POST", "/apis/acme.example.com/v1/reviews", false},
		{"Create", "POST", "/api/v1/nodes", false},
		{"CreateEvent", "POST", "/api/v1/namespaces/default/events", false},
		{"CreateToken", "POST", "/api/v1/namespaces/kube-system/serviceaccounts/a/token", false},
		{"UpdateLease", "PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l", false},
		{"Patch", "PATCH", "/api/v1/nodes/n", false},
		{"PatchStatus", "PATCH", "/api/v1/nodes/n/status", false},
		{"Delete", "DELETE", "/api/v1/nodes/n", false},
		{"DeleteCollection", "DELETE", "/api/v1/nodes", false},
		{"Approve", "PUT", "/apis/certificates.k8s.io/v1/certificatesigningrequests/r/approval", false},
		{"ExecByGet", "GET", "/api/v1/namespaces/a/pods/p/exec?command=rm", false},
		{"ProxyByGet", "GET", "/api/v1/nodes/n/proxy/run/x", false},
		{"LegacyProxy", "GET", "/api/v1/proxy/nodes/n/run/x", false},
		{"PostToNoResource", "POST", "/debug/flags/v", false},
		{"ProxyOfAService", "GET", "/api/v1/namespaces/a/services/s:80/proxy/x", false},
		{"ReviewOfAnObject", "POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews/a", false},
		{"LocalReviewOfOthers", "POST", "/apis/acme.example.com/v1/namespaces/a/reviews", false},
		{"UnknownMethod", "BREW", "/api/v1/nodes/n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var count sent
			var refused []string
			client := Wrap(func(what string) { refused = append(refused, what) })(&count)
			req, err := http.NewRequestWithContext(t.Context(), tt.method, "https://server"+tt.path, strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			response, err := client.RoundTrip(req)
			if err == nil {
				_ = response.Body.Close()
			}
			if passes := count == 1; passes != tt.passes || errors.Is(err, Err) == tt.passes || len(refused) == 0 != tt.passes {
				t.Errorf("passes %t, want %t; error %v, refused %q", passes, tt.passes, err, refused)
			}
		})
	}
}

func TestReadOnlyRefusesToSwitchProtocols(t *testing.T) {
	var count sent
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://server/api/v1/nodes/n", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Upgrade", "SPDY/3.1")
	if _, err := Wrap(func(string) {})(&count).RoundTrip(req); !errors.Is(err, Err) || count != 0 { //nolint:bodyclose // there is no response
		t.Errorf("error %v, %d requests were sent", err, count)
	}
}
