package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/simulator/internal/state"
	"github.com/fairlead-k8s/fairlead/simulator/wire"
)

func TestWhatBrowsersMayDo(t *testing.T) {
	const own, evil = "127.0.0.1:7640", "evil.example:7640"
	const byName = "the simulated cloud must be reached by its IP address or as localhost, not by the name in the request; simcloud serve --allow-host allows a name"
	for name, row := range map[string]struct {
		method, path, host string
		headers            map[string]string
		want               string // empty: it is served
	}{
		"NoBrowser":          {"DELETE", "/operator/v1/faults", own, nil, ""},
		"AllowedName":        {"DELETE", "/operator/v1/faults", "Cloud.example.:7640", nil, ""},
		"PageByAllowedName":  {"GET", "/", "cloud.example:7640", map[string]string{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, ""},
		"OtherSiteByAllowed": {"DELETE", "/operator/v1/faults", "cloud.example", map[string]string{"Origin": "http://evil.example"}, "this request comes from another website, http://evil.example"},
		"NameBelowLocalhost": {"GET", "/operator/v1/faults", "cloud.localhost:7640", nil, ""},
		"NoBrowserByName":    {"DELETE", "/operator/v1/faults", evil, nil, byName},
		"ReboundRead":        {"GET", "/v1/instances", evil, nil, byName},
		"ReboundOperator":    {"GET", "/operator/v1/faults", evil, nil, byName},
		"ReboundWatch":       {"GET", "/operator/v1/watch", evil, nil, byName},
		"ReboundFile":        {"GET", "/page/", evil, nil, byName},
		"ReboundIPInAName":   {"GET", "/v1/instances", "127.0.0.1.evil.example", nil, byName},
		"NoHost":             {"GET", "/v1/instances", "", nil, byName},
		"PageWrites":         {"DELETE", "/operator/v1/faults", own, map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": "http://" + own}, ""},
		"PageReads":          {"GET", "/operator/v1/faults", own, map[string]string{"Sec-Fetch-Site": "same-origin"}, ""},
		"OverIPv6":           {"DELETE", "/operator/v1/faults", "[::1]:7640", map[string]string{"Origin": "http://[::1]:7640"}, ""},
		"AsLocalhost":        {"DELETE", "/operator/v1/faults", "localhost:7640", map[string]string{"Origin": "http://localhost:7640"}, ""},
		"Typed":              {"GET", "/operator/v1/faults", own, map[string]string{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, ""},
		"LinkToThePage":      {"GET", "/", own, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, ""},
		"FetchOfThePage":     {"GET", "/", own, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, "this request comes from another website"},
		"LinkToACall":        {"GET", "/v1/instances", own, map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, "this request comes from another website"},
		"FormOfAnotherSite":  {"POST", "/operator/v1/calls/reset", own, map[string]string{"Origin": "https://evil.example"}, "this request comes from another website, https://evil.example"},
		"FormOfAnotherPort":  {"POST", "/operator/v1/calls/reset", own, map[string]string{"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:80"}, "this request comes from another website"},
		"FormFromASandbox":   {"POST", "/operator/v1/calls/reset", own, map[string]string{"Origin": "null"}, "this request comes from another website, null"},
		"OriginThatIsNone":   {"POST", "/operator/v1/calls/reset", own, map[string]string{"Origin": "http://%zz"}, "this request comes from another website, http://%zz"},
		"PageByName":         {"GET", "/", evil, nil, byName},
		"NameThatWasRebound": {"DELETE", "/operator/v1/faults", evil, map[string]string{"Origin": "http://" + evil}, byName},
	} {
		t.Run(name, func(t *testing.T) {
			server := newServer(t, state.Limits{})
			server.allowedHosts = []string{"cloud.example"}
			request := httptest.NewRequestWithContext(t.Context(), row.method, row.path, nil)
			request.Host = row.host
			for key, value := range row.headers {
				request.Header.Set(key, value)
			}
			answer := httptest.NewRecorder()
			server.ServeHTTP(answer, request)
			if row.want == "" {
				diff(t, "served", true, answer.Code < 300)
				return
			}
			diff(t, "status", http.StatusForbidden, answer.Code)
			diff(t, "it says why", true, strings.Contains(answer.Body.String(), `"message":"`+row.want+`"`))
			diff(t, "it is no call", []wire.CallCounter{}, server.meter.Report().Counters)
		})
	}
}
