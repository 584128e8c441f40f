package e2e

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
)

// Providers from before InstancesV2 initialise real Nodes, and a nil pointer
// behind "supported" is taken for what its author meant.
func TestProvidersWithTheOlderInterfaces(t *testing.T) {
	for _, tt := range []struct {
		provider   string
		providerID func(simulator.Instance) string
	}{
		{"legacy", testID},
		{"legacy-without-id", func(simulator.Instance) string { return "" }},
		{"typed-nil", testID},
	} {
		t.Run(tt.provider, func(t *testing.T) {
			b := onShared(t)
			i := b.kubelet(t, simulator.Instance{
				Name: b.name("older"), Zone: "sim-1c", Type: "medium", Addresses: offered("InternalIP=127.0.82.1", "ExternalIP=203.0.113.82"),
			})
			want := tt.providerID(i)
			if want == "" {
				b.guard.spare(i.Name)
			}
			b.daemon(t, setup{program: testCCM, provider: tt.provider, flags: []string{"--node-status-update-frequency=500ms"}})
			node := b.awaitNode(t, i.Name, soon, initialized)
			if err := errors.Join(
				differ("provider ID", want, node.Spec.ProviderID),
				differ("missing", []string(nil), missingOf(node, want == "")),
				differ("addresses", stated(i), node.Status.Addresses),
				differ("type", "medium", node.Labels[corev1.LabelInstanceTypeStable]),
				differ("zone", "sim-1c", node.Labels[corev1.LabelTopologyZone]),
			); err != nil {
				t.Error(err)
			}
			b.awaitEvent(t, i.Name, soon, "Normal Synced")

			i = b.cloud.change(t, i, simulator.InstancePatch{Type: new("huge"), Addresses: offered("InternalIP=127.0.82.2")})
			b.awaitNode(t, i.Name, soon, func(node *corev1.Node) error {
				return errors.Join(
					differ("addresses", stated(i), node.Status.Addresses),
					differ("type", "huge", node.Labels[corev1.LabelInstanceTypeStable]),
				)
			})
		})
	}
}

func testID(i simulator.Instance) string { return "test://" + i.Region + "/" + i.ID }
