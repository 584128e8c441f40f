package skeleton_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/controllers/nodelifecycle"
	controllermetrics "k8s.io/component-base/metrics/prometheus/controllers"

	"github.com/fairlead-k8s/fairlead/ccm"
)

// lying is a cloud whose answer about an instance depends on the Node's name: the
// instance does not exist ("gone"), the call fails ("error"), or it fails with
// InstanceNotFound ("sentinel"). All other instances exist.
type lying struct{ cloud }

func (l *lying) InstancesV2() (cloudprovider.InstancesV2, bool) { return l, true }

func (*lying) InstanceExists(_ context.Context, node *corev1.Node) (bool, error) {
	switch {
	case strings.Contains(node.Name, "error"):
		return false, errors.New("broken")
	case strings.Contains(node.Name, "sentinel"):
		return false, cloudprovider.InstanceNotFound
	}
	return !strings.Contains(node.Name, "gone"), nil
}

func (*lying) InstanceShutdown(context.Context, *corev1.Node) (bool, error) { return false, nil }

func (*lying) InstanceMetadata(_ context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	return &cloudprovider.InstanceMetadata{ProviderID: "acme://" + node.Name}, nil
}

// fleet returns Nodes in all states that matter for a deletion.
func fleet() *corev1.NodeList {
	list := &corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	add := func(name string, ready corev1.ConditionStatus, edits ...func(*corev1.Node)) {
		n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.Now()}, Spec: corev1.NodeSpec{ProviderID: "acme://" + name}}
		if ready != "" {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, LastHeartbeatTime: metav1.Now()}}
		}
		for _, edit := range edits {
			edit(&n)
		}
		list.Items = append(list.Items, n)
	}
	add("ready", corev1.ConditionTrue)
	add("ready-gone", corev1.ConditionTrue)
	add("silent", corev1.ConditionUnknown)
	add("silent-gone", corev1.ConditionUnknown)
	add("silent-error", corev1.ConditionUnknown)
	add("silent-sentinel", corev1.ConditionUnknown)
	add("not-ready-gone", corev1.ConditionFalse)
	add("never-reported-gone", "")
	add("waiting-gone", corev1.ConditionUnknown, func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: api.TaintExternalCloudProvider, Effect: corev1.TaintEffectNoSchedule}}
	})
	add("excluded-gone", corev1.ConditionUnknown, func(n *corev1.Node) { n.Labels = map[string]string{"fairlead.dev/exclude": "true"} })
	add("shutdown-gone", corev1.ConditionFalse, func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: api.TaintNodeShutdown, Effect: corev1.TaintEffectNoSchedule}}
	})
	return list
}

// serveNodes answers the read requests of a dry run. Any other request fails the
// test.
func serveNodes(t *testing.T, nodes *corev1.NodeList) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any
		switch path := r.URL.Path; {
		case r.Method != http.MethodGet:
			t.Errorf("the API server got %s %s", r.Method, path)
		case path == "/version":
			answer = map[string]string{"major": "1", "minor": "36"}
		case r.URL.Query().Get("watch") == "true" && r.URL.Query().Get("sendInitialEvents") == "true":
			w.WriteHeader(http.StatusUnprocessableEntity)
			answer = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity}
		case r.URL.Query().Get("watch") == "true":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		case path == "/api/v1/nodes":
			answer = nodes
		default:
			w.WriteHeader(http.StatusNotFound)
			answer = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// compared returns the Nodes that the skeleton deletes and the daemon does not,
// according to "plan --compare-with=upstream".
func compared(t *testing.T, nodes *corev1.NodeList) (deleted []string) {
	t.Helper()
	cmd := ccm.NewCommand(ccm.Options{ProviderName: "acme", Provider: func(context.Context, ccm.ProviderDeps) (cloudprovider.Interface, error) {
		return &lying{}, nil
	}})
	var out, log bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&log)
	cmd.SetArgs([]string{
		"plan", "--master=" + serveNodes(t, nodes), "--cluster-name=c", "--kube-api-content-type=application/json",
		"--controllers=cloud-node,cloud-node-lifecycle", "--compare-with=upstream", "-o", "json",
	})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	var said struct {
		Compared struct {
			CloudCalls  int
			Differences []struct {
				Object           string
				Daemon, Skeleton struct{ Effect string }
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &said); err != nil {
		t.Fatal(err)
	}
	for _, d := range said.Compared.Differences {
		if d.Skeleton.Effect == "delete" {
			deleted = append(deleted, strings.TrimPrefix(d.Object, "node/"))
		}
	}
	// The skeleton asks about four Nodes about which the daemon does not ask: two that
	// have reported Ready=False recently, one that has never reported, and one that is
	// excluded.
	if said.Compared.CloudCalls != 4 {
		t.Errorf("the comparison took %d more calls, want 4", said.Compared.CloudCalls)
	}
	return deleted
}

// In one round, the skeleton's own lifecycle controller deletes the Nodes that the
// sub-command "plan" names, and no others.
func TestPlanKnowsWhatTheSkeletonDeletes(t *testing.T) {
	nodes := fleet()
	said := compared(t, nodes)

	var deleted []string
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(nodes)
		ctx, stop := context.WithCancel(t.Context())
		shared := informers.NewSharedInformerFactory(client, 0)
		c, err := nodelifecycle.NewCloudNodeLifecycleController(shared.Core().V1().Nodes(), client, &lying{}, time.Hour, 1)
		if err != nil {
			t.Fatal(err)
		}
		shared.StartWithContext(ctx)
		shared.WaitForCacheSyncWithContext(ctx)
		go c.Run(ctx, controllermetrics.NewControllerManagerMetrics("test"))
		synctest.Wait() // The first round is over, and the next one begins in an hour.
		for _, a := range client.Actions() {
			if a.GetVerb() == "delete" {
				deleted = append(deleted, a.(interface{ GetName() string }).GetName())
			}
		}
		stop()
		shared.Shutdown()
	})
	slices.Sort(deleted)
	slices.Sort(said)
	if diff := cmp.Diff(deleted, said); diff != "" || len(said) == 0 {
		t.Errorf("Nodes that the skeleton deletes (-deleted +said):\n%s", diff)
	}
}
