package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/fairlead-k8s/fairlead/internal/daemon"
	"github.com/fairlead-k8s/fairlead/internal/dryrun/ledger"
)

// looked is a provider that calls a function for each request for an instance's
// metadata.
type looked struct {
	writing

	asked func()
}

func (l looked) InstancesV2() (cloudprovider.InstancesV2, bool) { return l, true }

func (l looked) InstanceMetadata(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	l.asked()
	return nil, errors.New("broken")
}

func (looked) InstanceExists(context.Context, *corev1.Node) (bool, error) { return true, nil }

func (looked) InstanceShutdown(context.Context, *corev1.Node) (bool, error) { return false, nil }

// Whichever features are on, a daemon with --shadow writes nothing: no lease, no
// token, no event. Writes of the provider are refused. At its end, the daemon prints
// one line.
func TestShadowWritesNothing(t *testing.T) {
	api := &readableServer{nodes: `{"metadata":{"name":"n","uid":"u"},"spec":{"taints":[{"key":"node.cloudprovider.kubernetes.io/uninitialized","effect":"NoSchedule"}]}}`}
	server := httptest.NewServer(api)
	defer server.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	cmd := New(daemon.Options{Name: "acme-ccm", ProviderName: "acme", Provider: func(context.Context, daemon.ProviderDeps) (cloudprovider.Interface, error) {
		return looked{asked: stop}, nil
	}})
	var out, log bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&log)
	cmd.SetArgs([]string{
		"--shadow", "--master=" + server.URL, "--cluster-name=c", "--kube-api-content-type=application/json", "--use-service-account-credentials",
		"--secure-port=0", "--leader-elect", "--leader-elect-resource-lock=leases",
	})
	if err := cmd.ExecuteContext(ctx); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	var got ledger.Report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || bytes.Count(out.Bytes(), []byte("\n")) != 1 {
		t.Fatalf("the report is %q: %v", &out, err)
	}
	if diff := cmp.Diff([]string{"DELETE /api/v1/nodes/n"}, got.Refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	api.mu.Lock()
	defer api.mu.Unlock()
	if len(api.wrote) > 0 {
		t.Errorf("the API server got %q", api.wrote)
	}
}

// If the right to list one kind of objects is missing, the controllers that need
// these objects do not look. The others do.
func TestShadowGoesOnIfAKindCannotBeListed(t *testing.T) {
	api := &readableServer{
		nodes:  `{"metadata":{"name":"n","uid":"u"},"spec":{"taints":[{"key":"node.cloudprovider.kubernetes.io/uninitialized","effect":"NoSchedule"}]}}`,
		denied: "/certificatesigningrequests",
	}
	server := httptest.NewServer(api)
	defer server.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute) // shorter than the two minutes after which a controller is logged as late
	defer stop()
	asked := false
	cmd := New(daemon.Options{Name: "acme-ccm", ProviderName: "acme", Provider: func(context.Context, daemon.ProviderDeps) (cloudprovider.Interface, error) {
		return looked{asked: sync.OnceFunc(func() { asked = true; stop() })}, nil
	}})
	var out, log bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&log)
	cmd.SetArgs([]string{
		"--shadow", "--master=" + server.URL, "--cluster-name=c", "--kube-api-content-type=application/json", "--secure-port=0",
		"--controllers=*,kubelet-serving-csr-controller",
	})
	if err := cmd.ExecuteContext(ctx); err != nil || !asked {
		t.Fatalf("the cloud was asked about the Node: %v; error %v\n%s", asked, err, &log)
	}
	var got ledger.Report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("the report is %q: %v", &out, err)
	}
	isBlind := func(what string) bool {
		return strings.HasPrefix(what, "kubelet-serving-csr-controller: the API server has not listed its objects; ")
	}
	if !slices.ContainsFunc(got.Idle, isBlind) {
		t.Errorf("not looked at: %q", got.Idle)
	}
}
