package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/dryrun"
)

// fleet is a provider whose calls are counted. It does not know the instances of
// Nodes whose names begin with "gone".
type fleet struct {
	writing

	calls *atomic.Int64
}

func (f fleet) InstancesV2() (cloudprovider.InstancesV2, bool) { return f, true }

func (fleet) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

func (f fleet) InstanceMetadata(_ context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	f.calls.Add(1)
	return &cloudprovider.InstanceMetadata{ProviderID: "acme://" + node.Name}, nil
}

func (f fleet) InstanceExists(_ context.Context, node *corev1.Node) (bool, error) {
	f.calls.Add(1)
	return !strings.HasPrefix(node.Name, "gone"), nil
}

func (f fleet) InstanceShutdown(context.Context, *corev1.Node) (bool, error) {
	f.calls.Add(1)
	return false, nil
}

// With a thousand Nodes, the sub-command "plan" calls the cloud once for each Node.
// It makes a few more calls for silent Nodes and for the Nodes that are asked about
// as witnesses. The API server gets no request for a single Node.
func TestPlanOfAThousandNodesAsksOnceAboutEach(t *testing.T) {
	const size, silent = 1000, 20
	var items []string
	for n := range size {
		name, ready := fmt.Sprintf("n%d", n), "True"
		if n < silent {
			name, ready = fmt.Sprintf("gone%d", n), "Unknown"
		}
		items = append(items, fmt.Sprintf(`{"metadata":{"name":%q,"uid":%q},"spec":{"providerID":"acme://%s"},"status":{"conditions":[{"type":"Ready","status":%q}]}}`, name, name, name, ready))
	}
	api := &readableServer{nodes: strings.Join(items, ",")}
	var requests, calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "true" {
			requests.Add(1)
		}
		api.ServeHTTP(w, r)
	}))
	defer server.Close()
	text, err := runPlanOf(t, fleet{calls: &calls}, server.URL, "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var got dryrun.Report
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d calls to the cloud, %d requests", calls.Load(), requests.Load())
	// For each silent Node there are at most two more calls: one about its instance and one
	// about a witness.
	if n := calls.Load(); n < size || n > size+2*silent || n != int64(got.CloudCalls) || got.Looked["node"] != size {
		t.Errorf("%d calls to the cloud, of which the report says %d; looked at %v", n, got.CloudCalls, got.Looked)
	}
	if n := requests.Load(); n > 10 {
		t.Errorf("%d requests to the API server, want 10 at most", n)
	}
}
