package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-k8s/fairlead/internal/controller/nodefact"
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

// TestLateClaimsGetNoRoutes lets kubelets register without CIDRs, and write later those of
// younger Nodes: both halves of one that has its route, and one that was just given.
func TestLateClaimsGetNoRoutes(t *testing.T) {
	n := podnetwork.New(t, onOwn(t, "--controller-manager-arg=--allocate-node-cidrs=false"))
	n.Runs(t, daemon.Setup{})
	hostile := []*corev1.Node{registersItself(t, n, "hostile", ""), registersItself(t, n, "hostile", ""), registersItself(t, n, "hostile", "")}
	var want []string
	for _, cidr := range []string{"10.129.3.0/24", "10.129.4.0/24"} {
		victim := n.Cloud.Instance(t, simulator.Instance{Name: n.Name("victim")})
		n.Registers(t, victim, cidr)
		n.AwaitNode(t, victim.Name, expect.Soon, podnetwork.Shows(podnetwork.Reachable))
		want = append(want, cidr+" "+victim.ID)
	}
	late := n.Cloud.Instance(t, simulator.Instance{Name: n.Name("victim")})
	n.Registers(t, late, "")
	const given = `{"spec":{"podCIDR":%q,"podCIDRs":[%[1]q]}}`
	n.Patch(t, late.Name, fmt.Sprintf(given, "10.129.5.0/24"))
	for k, cidr := range []string{"10.129.5.0/24", "10.129.3.0/25", "10.129.3.128/25"} {
		patchesItself(t, n, hostile[k].Name, fmt.Sprintf(given, cidr))
	}
	for _, node := range hostile {
		n.AwaitNode(t, node.Name, expect.Soon, func(node *corev1.Node) error {
			if shown := nodefact.Condition(node, corev1.NodeNetworkUnavailable); shown == nil || shown.Reason != "PodCIDRRejected" {
				return fmt.Errorf("it shows %v", shown)
			}
			return nil
		})
	}
	n.AwaitNode(t, late.Name, expect.Soon, podnetwork.Shows(podnetwork.Reachable))
	routes, err := n.Cloud.Routes(t.Context())
	if err := errors.Join(err, expect.Equal("routes", append(want, "10.129.5.0/24 "+late.ID), podnetwork.Lines(routes))); err != nil {
		t.Error(err)
	}
}

// registersItself adds a Node for a new instance, with the credentials of its kubelet. If
// cidr is not empty, the Node has this CIDR.
func registersItself(t *testing.T, n *podnetwork.Network, base, cidr string) *corev1.Node {
	t.Helper()
	i := n.Cloud.Instance(t, simulator.Instance{Name: n.Name(base)})
	node := nodes.New(i.Name)
	if cidr != "" {
		node.Spec.PodCIDR, node.Spec.PodCIDRs = cidr, []string{cidr}
	}
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
