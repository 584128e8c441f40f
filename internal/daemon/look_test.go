package daemon

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/daemon/provider/providertest"
)

// A process that only reads says which of its requests were refused: by itself,
// because they write, and by the API server, because a right is missing.
func TestSpectatorHearsOfRefusals(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer server.Close()
	p := parsed(t, "--kube-api-content-type=application/json --master="+server.URL)
	var refused, denied []string
	p.OnlyLook(Spectator{
		Refused: func(what string) { refused = append(refused, what) },
		Denied:  func(request string) { denied = append(denied, request) },
	})
	p.Options.Provider = func(context.Context, ProviderDeps) (cloudprovider.Interface, error) {
		return &providertest.Cloud{}, nil
	}
	made, err := NewProcess(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := made.register(record.NewFakeRecorder(1)); err != nil || made.election != nil {
		t.Errorf("it takes part in an election: %v", err)
	}
	client, err := made.clients.informers()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("the API server has refused nothing")
	}
	if err := client.CoreV1().Nodes().Delete(t.Context(), "n", metav1.DeleteOptions{}); err == nil {
		t.Error("a Node was deleted")
	}
	if diff := cmp.Diff([]string{"DELETE /api/v1/nodes/n"}, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"GET /api/v1/nodes"}, denied); diff != "" {
		t.Errorf("denied (-want +got):\n%s", diff)
	}
}
