package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/bed"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodepool"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// Guide "Two managers in one cluster": without any label, each daemon initialises
// the Nodes of its own cloud. It removes no Node of the other cloud.
func TestTwoManagers(t *testing.T) {
	b := onShared(t)
	one, other := b.NewCloud(t), b.NewCloud(t)
	var ours, theirs []*nodepool.Member
	for range 3 {
		i, node := b.Pair(t, one, simulator.Instance{Name: b.Name("one")})
		ours = append(ours, &nodepool.Member{Node: node, Instance: i})
		i, node = b.Pair(t, other, simulator.Instance{Name: b.Name("other")})
		theirs = append(theirs, &nodepool.Member{Node: node, Instance: i})
	}
	b.Daemon(t, daemon.Setup{Cloud: one.URL, Flags: nodepool.Quickly()})
	b.Daemon(t, daemon.Setup{Cloud: other.URL, Flags: nodepool.Quickly(), Provider: "legacy"})
	both := func(id func(simulator.Instance) string, members []*nodepool.Member) {
		t.Helper()
		for _, m := range members {
			b.AwaitNode(t, m.Name, nodepool.GoneWithin, func(node *corev1.Node) error {
				return errors.Join(nodes.Initialized(node), expect.Equal("provider ID", id(m.Instance), node.Spec.ProviderID))
			})
		}
	}
	both(nodes.ProviderID, ours)
	both(testID, theirs)

	p := &nodepool.Pool{Bed: b}
	p.Silence(t, ours[0], ours[1], theirs[0], theirs[1])
	for _, gone := range []struct {
		cloud *bed.Cloud
		m     *nodepool.Member
	}{{one, ours[0]}, {other, theirs[0]}} {
		if err := gone.cloud.TerminateInstance(t.Context(), gone.m.Instance.ID); err != nil {
			t.Fatal(err)
		}
		awaitNodeGone(t, b, gone.m.Name)
	}
	// By now, the daemons have asked about the remaining silent Nodes as often as
	// about the deleted Nodes. The machines of the remaining Nodes exist.
	both(nodes.ProviderID, ours[1:])
	both(testID, theirs[1:])
}

// awaitNodeGone waits until no Node has this name.
func awaitNodeGone(t *testing.T, b *bed.Bed, name string) {
	t.Helper()
	expect.Within(t, nodepool.GoneWithin, func(ctx context.Context) error {
		list, err := b.Admin.CoreV1().Nodes().List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("node %s is still there", name)
		}
		return err
	})
}

// Guide "Replace the CCM of a running cluster": the commands in "The way back" remove our
// conditions, and no others.
func TestWayBack(t *testing.T) {
	b := onShared(t)
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("the guide's commands need kubectl")
	}
	node := nodes.New(b.Name("back"))
	for _, ours := range []corev1.NodeConditionType{nodes.ConditionInitialized, nodepool.ConditionMissing} {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: ours, Status: corev1.ConditionTrue, Reason: "Test"})
	}
	b.Register(t, node)
	service := serviceWithConditions(t, b, "LoadBalancerServing", "LoadBalancerProvisioning", "SomebodyElses")

	n := newcomer{dir: t.TempDir(), cloud: defaultCloud, env: []string{"KUBECONFIG=" + b.Cluster.Kubeconfig}}
	blocks := n.blocks(t, "../../docs/guides/replace-the-ccm.md", "<!-- test/e2e -->\n```sh\n")
	if len(blocks) != 2 {
		t.Fatalf("the guide has %d blocks of commands that are for this test, want 2", len(blocks))
	}
	for _, block := range blocks {
		n.do(t, block)
	}
	var left []string
	for _, c := range b.Node(t, node.Name).Status.Conditions {
		left = append(left, string(c.Type))
	}
	got, err := b.Admin.CoreV1().Services(service.Namespace).Get(t.Context(), service.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Status.Conditions {
		left = append(left, c.Type)
	}
	if err := expect.Equal("conditions", []string{"Ready", "SomebodyElses"}, left); err != nil {
		t.Error(err)
	}
}

// serviceWithConditions creates a Service with these conditions, which is deleted at
// the end of the test.
func serviceWithConditions(t *testing.T, b *bed.Bed, conditions ...string) *corev1.Service {
	t.Helper()
	services := b.Admin.CoreV1().Services(metav1.NamespaceDefault)
	created, err := services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: b.Name("back")},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	expect.Cleanup(t, func(ctx context.Context) error { return services.Delete(ctx, created.Name, metav1.DeleteOptions{}) })
	var all []string
	for _, c := range conditions {
		all = append(all, fmt.Sprintf(`{"type":%q,"status":"True","reason":"Test","message":"","lastTransitionTime":%q}`, c, time.Now().UTC().Format(time.RFC3339)))
	}
	patch := fmt.Appendf(nil, `{"status":{"conditions":[%s]}}`, strings.Join(all, ","))
	if _, err := services.Patch(t.Context(), created.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	return created
}
