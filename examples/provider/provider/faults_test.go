package provider

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	fairlead "github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/simulator"
)

// nodes returns the same Node without and with its provider ID.
func nodes() map[string]*corev1.Node {
	return map[string]*corev1.Node{"ByName": node("node-1", ""), "ByProviderID": node("node-1", first)}
}

// fails checks that all three methods return an error. It also checks that
// ClassifyError finds no kind for the error.
func (f fixture) fails(t *testing.T, asked *corev1.Node) {
	t.Helper()
	if exists, err := f.instances.InstanceExists(t.Context(), asked); exists || err == nil {
		t.Errorf("exists: got %v, error %v", exists, err)
	}
	if shutdown, err := f.instances.InstanceShutdown(t.Context(), asked); shutdown || err == nil {
		t.Errorf("shutdown: got %v, error %v", shutdown, err)
	}
	metadata, err := f.instances.InstanceMetadata(t.Context(), asked)
	if metadata != nil || err == nil || errors.Is(err, cloudprovider.InstanceNotFound) {
		t.Errorf("metadata: got %v, error %v", metadata, err)
	}
	diff(t, "kind of the error", fairlead.Classification{}, f.provider.(fairlead.ErrorClassifier).ClassifyError(err))
}

// The cloud's own 404 for an instance means that it does not exist. A 404 for a
// list is an error.
func TestNotFound(t *testing.T) {
	f := newFixture(t)
	f.create(t, simulator.Instance{Name: "node-1"})
	diff(t, "fault", nil, f.operator.SetFault(t.Context(), simulator.Fault{Name: "404", Kind: simulator.FaultNotFound}))
	exists, err := f.instances.InstanceExists(t.Context(), node("node-1", first))
	diff(t, "error", nil, err)
	diff(t, "exists", false, exists)
	f.fails(t, node("node-1", ""))
}

// Only answers of the cloud are believed. An answer from a proxy, a login page or a
// server at the wrong address, for example, is an error.
func TestOthersAreNotBelieved(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"404": http.NotFound,
		"404OfAnotherAPI": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":"no such page"}`, http.StatusNotFound)
		},
		"200OfAPage":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"200OfAnotherAPI": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) },
	} {
		for how, asked := range nodes() {
			t.Run(name+how, func(t *testing.T) {
				server := httptest.NewServer(answer)
				defer server.Close()
				f := open(t, server.URL)
				f.fails(t, asked)
			})
		}
	}
}

func TestConfig(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "line 1: endpoint: is missing; give a URL such as http://127.0.0.1:7640",
		"endpoint: somewhere":         `line 1: endpoint: must be a URL such as https://api.example.com, not "somewhere"`,
		"endpont: http://a\nurl: b":   "line 1: endpont: unknown key; did you mean endpoint?; line 1: endpoint: is missing; give a URL such as http://127.0.0.1:7640; line 2: url: unknown key",
		"endpoint: http://127.0.0.1/": "",
	} {
		_, err := cloudprovider.GetCloudProvider(Name, strings.NewReader(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got error %v, want %q", text, err, want)
		}
	}
	if _, err := cloudprovider.GetCloudProvider(Name, nil); err == nil || !strings.Contains(err.Error(), "--cloud-config is missing") {
		t.Errorf("without a file: got error %v", err)
	}
}
