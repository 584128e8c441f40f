package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// TestClusterIsPassedOn checks that a cloud passes on another program's description
// of a cluster.
func TestClusterIsPassedOn(t *testing.T) {
	var answer http.HandlerFunc
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
	defer program.Close()
	cluster, err := clusterAt(program.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	cloud, err := simulator.New(simulator.Config{Cluster: cluster})
	if err != nil {
		t.Fatal(err)
	}
	said := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	for name, row := range map[string]struct {
		answer http.HandlerFunc
		status int
		want   string
	}{
		"Described":     {said(http.StatusOK, `{"nodes":["<b>"],"services":[],"held":[],"events":[]}`), http.StatusOK, `{"nodes":["\u003cb\u003e"],`},
		"NotReadyYet":   {said(http.StatusServiceUnavailable, "not ready yet\n"), http.StatusServiceUnavailable, `"message":"not ready yet"`},
		"NotJSON":       {said(http.StatusOK, "<html>"), http.StatusServiceUnavailable, "does not describe a cluster"},
		"AnotherObject": {said(http.StatusOK, `{"nodes":[]}`), http.StatusServiceUnavailable, "does not describe a cluster"},
		"List":          {said(http.StatusOK, `[]`), http.StatusServiceUnavailable, "does not describe a cluster"},
		"AnotherAddress": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		}, http.StatusServiceUnavailable, "it refers to another URL"},
	} {
		t.Run(name, func(t *testing.T) {
			answer = row.answer
			w := httptest.NewRecorder()
			cloud.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/operator/v1/cluster", nil))
			if w.Code != row.status || !strings.Contains(w.Body.String(), row.want) {
				t.Errorf("got %d %s, want %d with %s", w.Code, w.Body, row.status, row.want)
			}
		})
	}
}

// TestWithoutAClusterThereIsNone checks that a cloud without --cluster-view serves no
// cluster.
func TestWithoutAClusterThereIsNone(t *testing.T) {
	cluster, err := clusterAt("")
	if cluster != nil || err != nil {
		t.Errorf("without a URL there is %v", err)
	}
	cloud, err := simulator.New(simulator.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	cloud.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/operator/v1/cluster", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("got %d %s, want 404", w.Code, w.Body)
	}
}
