package e2e

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
	"github.com/fairlead-k8s/fairlead/test/internal/daemon"
	"github.com/fairlead-k8s/fairlead/test/internal/expect"
	"github.com/fairlead-k8s/fairlead/test/internal/nodes"
)

// Providers with interfaces that are older than InstancesV2 can initialise real
// Nodes. If a provider claims to support an interface but returns a nil pointer,
// the interface counts as not supported.
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
			i := b.Kubelet(t, simulator.Instance{
				Name: b.Name("older"), Zone: "sim-1c", Type: "medium", Addresses: nodes.CloudAddresses("InternalIP=127.0.82.1", "ExternalIP=203.0.113.82"),
			})
			want := tt.providerID(i)
			if want == "" {
				b.Guard.Spare(i.Name)
			}
			b.Daemon(t, daemon.Setup{Provider: tt.provider, Flags: []string{"--node-status-update-frequency=500ms"}})
			node := b.AwaitNode(t, i.Name, expect.Soon, nodes.Initialized)
			if err := errors.Join(
				expect.Equal("provider ID", want, node.Spec.ProviderID),
				expect.Equal("missing", []string(nil), nodes.Missing(node, want == "")),
				expect.Equal("addresses", nodes.AddressesOf(i), node.Status.Addresses),
				expect.Equal("type", "medium", node.Labels[corev1.LabelInstanceTypeStable]),
				expect.Equal("zone", "sim-1c", node.Labels[corev1.LabelTopologyZone]),
			); err != nil {
				t.Error(err)
			}
			b.AwaitEvent(t, i.Name, expect.Soon, "Normal Synced")

			i = b.Cloud.Change(t, i, simulator.InstancePatch{Type: new("huge"), Addresses: nodes.CloudAddresses("InternalIP=127.0.82.2")})
			b.AwaitNode(t, i.Name, expect.Soon, func(node *corev1.Node) error {
				return errors.Join(
					expect.Equal("addresses", nodes.AddressesOf(i), node.Status.Addresses),
					expect.Equal("type", "huge", node.Labels[corev1.LabelInstanceTypeStable]),
				)
			})
		})
	}
}

func testID(i simulator.Instance) string { return "test://" + i.Region + "/" + i.ID }
