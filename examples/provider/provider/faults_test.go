package provider

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	fairlead "github.com/fairlead-k8s/fairlead/provider"
	"github.com/fairlead-k8s/fairlead/simulator"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// nodes are the same Node, before and after it has got its provider ID.
func nodes() map[string]*corev1.Node {
	return map[string]*corev1.Node{"ByName": node("node-1", ""), "ByProviderID": node("node-1", first)}
}

// Whatever goes wrong in the cloud is an error of a known kind. It is never an
// answer, and above all never "there is no such instance".
func TestFaultsAreErrors(t *testing.T) {
	for name, row := range map[string]struct {
		fault simulator.Fault
		want  fairlead.Classification
	}{
		"500":       {simulator.Fault{Kind: simulator.FaultError}, fairlead.Classification{Kind: fairlead.Unavailable}},
		"503":       {simulator.Fault{Kind: simulator.FaultOutage}, fairlead.Classification{Kind: fairlead.Unavailable}},
		"401":       {simulator.Fault{Kind: simulator.FaultDenied, Status: 401}, fairlead.Classification{Kind: fairlead.Denied}},
		"403":       {simulator.Fault{Kind: simulator.FaultDenied}, fairlead.Classification{Kind: fairlead.Denied}},
		"429":       {simulator.Fault{Kind: simulator.FaultThrottle, Rate: 0.001, Burst: 1}, fairlead.Classification{Kind: fairlead.Throttled, RetryAfter: 1000 * time.Second}},
		"Reset":     {simulator.Fault{Kind: simulator.FaultReset}, fairlead.Classification{Kind: fairlead.Unavailable}},
		"LostReply": {simulator.Fault{Kind: simulator.FaultLostReply}, fairlead.Classification{Kind: fairlead.Unavailable}},
		"Hang":      {simulator.Fault{Kind: simulator.FaultHang}, fairlead.Classification{Kind: fairlead.Unavailable}},
	} {
		for how, asked := range nodes() {
			t.Run(name+how, func(t *testing.T) {
				f := newFixture(t)
				f.create(t, simulator.Instance{Name: "node-1"})
				fault := row.fault
				fault.Name = name
				diff(t, "fault", nil, f.operator.SetFault(t.Context(), fault))
				if fault.Kind == simulator.FaultThrottle {
					_, err := f.instances.InstanceExists(t.Context(), asked)
					diff(t, "the call within the quota", nil, err)
				}
				f.fails(t, asked, fault.Kind, row.want)
			})
		}
	}
}

// fails checks that all three questions return the expected error. The caller's
// deadline is short only for a fault that hangs, because the machine may be slow.
func (f fixture) fails(t *testing.T, asked *corev1.Node, fault simulator.FaultKind, want fairlead.Classification) {
	t.Helper()
	timeout := time.Minute
	if fault == simulator.FaultHang {
		timeout = 100 * time.Millisecond
	}
	within := func() context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		t.Cleanup(cancel)
		return ctx
	}
	if exists, err := f.instances.InstanceExists(within(), asked); exists || err == nil {
		t.Errorf("exists: got %v, error %v", exists, err)
	}
	if shutdown, err := f.instances.InstanceShutdown(within(), asked); shutdown || err == nil {
		t.Errorf("shutdown: got %v, error %v", shutdown, err)
	}
	metadata, err := f.instances.InstanceMetadata(within(), asked)
	if metadata != nil || err == nil || errors.Is(err, cloudprovider.InstanceNotFound) {
		t.Errorf("metadata: got %v, error %v", metadata, err)
	}
	got := f.provider.(fairlead.ErrorClassifier).ClassifyError(err)
	if got.RetryAfter > want.RetryAfter-time.Minute && got.RetryAfter < want.RetryAfter {
		got.RetryAfter = want.RetryAfter // Some of the time has passed.
	}
	diff(t, "kind of the error", want, got)
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
	f.fails(t, node("node-1", ""), simulator.FaultNotFound, fairlead.Classification{})
}

// An answer that does not come from the cloud is an error: that of a proxy, a login
// page, or a server at the wrong address.
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
				f.fails(t, asked, "", fairlead.Classification{})
			})
		}
	}
}

func TestConfig(t *testing.T) {
	for text, want := range map[string]string{
		"":                            `endpoint: must be a URL such as http://127.0.0.1:7640, not ""`,
		"endpoint: somewhere":         `endpoint: must be a URL such as http://127.0.0.1:7640, not "somewhere"`,
		"endpoint: http://a\nurl: b":  `unknown field "url"`,
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
