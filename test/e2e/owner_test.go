package e2e

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/lbservice"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// A daemon with flags for its own Nodes leaves the Nodes of others alone, even if its
// own cloud has an instance of the same name. The daemon writes none of these Nodes, and
// makes none of them a backend.
func TestNodesOfOthersAreLeftAlone(t *testing.T) {
	b := onShared(t)
	s := lbservice.New(t, b, 2)
	named := func(base string, edits ...func(*corev1.Node)) *corev1.Node {
		node := nodes.New(b.Name(base))
		for _, edit := range edits {
			edit(node)
		}
		s.Cloud.Instance(t, simulator.Instance{Name: node.Name}) // it has the Node's name, but is another machine
		return node
	}
	elsewhere := func(n *corev1.Node) { n.Spec.ProviderID = "elsewhere://west/" + n.Name }
	settled := func(n *corev1.Node) { n.Spec.Taints = nil }
	theirs := []*corev1.Node{
		named("waiting", elsewhere),
		named("theirs", elsewhere, settled),
		named("edge", func(n *corev1.Node) { n.Labels["node.example.com/edge"] = "" }),
		named("nobodys", func(n *corev1.Node) { n.Labels["fairlead.dev/provider"] = "none" }),
	}
	// This Node has an instance of this cloud, so only its label keeps it from being
	// a backend.
	lent := nodes.NewInitialized(s.Cloud.Instance(t, simulator.Instance{Name: b.Name("lent")}))
	lent.Labels["fairlead.dev/provider"] = "another"
	theirs = append(theirs, lent)
	for _, node := range theirs {
		b.Register(t, node)
	}
	mark := b.Audit(t).Mark()
	s.Runs(t, daemon.Setup{Flags: []string{
		"--own-provider-id-schemes=simulated", "--own-node-selector=!node.example.com/edge", "--service-backends-of=own", "--node-status-update-frequency=500ms",
	}})
	passes(t, s) // The new load balancer has the two hosts as backends, and no others.
	awaitCalls(t, s.Cloud, 3)
	for _, node := range theirs {
		if writes := b.Audit(t).Since(mark).OfDaemons().OfNode(node.Name).Writes(); len(writes) > 0 {
			t.Errorf("node %s was written: %v", node.Name, writes)
		}
		// Ignore the taints that kube-controller-manager adds because of conditions.
		taints := slices.DeleteFunc(b.Node(t, node.Name).Spec.Taints, func(t corev1.Taint) bool { return strings.HasPrefix(t.Key, "node.kubernetes.io/") })
		if !slices.EqualFunc(taints, node.Spec.Taints, func(a, b corev1.Taint) bool { return a.Key == b.Key }) {
			t.Errorf("node %s: taints %v, want %v", node.Name, taints, node.Spec.Taints)
		}
	}
}
