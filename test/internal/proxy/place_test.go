package proxy

import (
	"slices"
	"testing"
)

func TestPlacesOf(t *testing.T) {
	var got []string
	for _, p := range PlacesOf([]Request{
		{Method: "GET", Path: "/api/v1/nodes"},
		{Method: "GET", Path: "/api/v1/nodes", Watch: true},
		{Method: "PATCH", Path: "/api/v1/nodes/alive-7/status"},
		{Method: "PATCH", Path: "/api/v1/nodes/alive-8/status"},
		{Method: "PATCH", Path: "/api/v1/nodes/alive-7"},
		{Method: "DELETE", Path: "/v1/load-balancers/lb-00000001"},
	}) {
		got = append(got, p.String())
	}
	want := []string{
		"GET-.api.v1.nodes-1", "WATCH-.api.v1.nodes-1", "PATCH-.api.v1.nodes.*.status-1", "PATCH-.api.v1.nodes.*.status-2",
		"PATCH-.api.v1.nodes.*-1", "DELETE-.v1.load-balancers.*-1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("places %q, want %q", got, want)
	}
}
