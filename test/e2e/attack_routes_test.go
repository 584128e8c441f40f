package e2e

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
	"github.com/fairlead-k8s/fairlead/test/internal/podnetwork"
)

// TestHiddenNodesKeepNoRoutes lets kubelets register with parts of CIDRs that nobody has
// yet. When they have their routes, they hide their Nodes from the daemon. The routes must
// not take the traffic of the Nodes that get the whole CIDRs.
func TestHiddenNodesKeepNoRoutes(t *testing.T) {
	n := podnetwork.New(t, onShared(t))
	n.Runs(t, daemon.Setup{})
	excludes := registersItself(t, n, "excludes", "10.129.3.128/25")
	stays := registersItself(t, n, "stays", "10.130.3.0/26")
	for _, node := range []*corev1.Node{excludes, stays} {
		n.AwaitNode(t, node.Name, expect.Soon, podnetwork.Shows(podnetwork.Reachable))
	}
	patchesItself(t, n, excludes.Name, `{"metadata":{"labels":{"fairlead.dev/exclude":""}}}`)
	patchesItself(t, n, stays.Name, `{"metadata":{"finalizers":["example.com/stays"]}}`)
	n.Leaves(t, stays.Name)

	first := registersItself(t, n, "first", "10.129.3.0/24")
	second := registersItself(t, n, "second", "10.130.3.0/24")
	for _, node := range []*corev1.Node{first, second} {
		n.AwaitNode(t, node.Name, expect.Soon, podnetwork.Shows(podnetwork.Reachable))
	}
	expect.Within(t, expect.Soon, func(ctx context.Context) error {
		routes, err := n.Cloud.Routes(ctx)
		if err != nil {
			return err
		}
		var destinations []string
		for _, r := range routes {
			destinations = append(destinations, r.Destination)
		}
		slices.Sort(destinations)
		return expect.Equal("routes", []string{"10.129.3.0/24", "10.130.3.0/24"}, destinations)
	})
}

// registersItself adds a Node for a new instance, with the credentials of its kubelet.
func registersItself(t *testing.T, n *podnetwork.Network, base, cidr string) *corev1.Node {
	t.Helper()
	i := n.Cloud.Instance(t, simulator.Instance{Name: n.Name(base)})
	node := nodes.New(i.Name)
	node.Spec.PodCIDR, node.Spec.PodCIDRs = cidr, []string{cidr}
	made, err := asKubelet(t, n.Bed, i.Name).CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, all := context.WithoutCancel(t.Context()), n.Admin.CoreV1().Nodes()
		_, _ = all.Patch(ctx, made.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		_ = all.Delete(ctx, made.Name, metav1.DeleteOptions{})
	})
	return made
}

func patchesItself(t *testing.T, n *podnetwork.Network, name, patch string) {
	t.Helper()
	if _, err := asKubelet(t, n.Bed, name).CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}
