package skeleton

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/internal/cloud"
	"github.com/fairlead-k8s/fairlead/internal/controller/step"
)

func TestRoutes(t *testing.T) {
	with := func(cidrs ...string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.PodCIDRs = cidrs }
	}
	shown := func(status corev1.ConditionStatus, reason string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable, Status: status, Reason: reason})
		}
	}
	reachable := shown(corev1.ConditionFalse, "RouteCreated")
	older := func(n *corev1.Node) { n.Spec.PodCIDR = "10.244.1.0/24" }
	one := cloud.Route{Node: "n", CIDR: "10.244.1.0/24"}
	stays := map[string]step.Effect{"route/10.244.1.0/24": step.None}
	for _, tt := range []struct {
		name   string
		node   *corev1.Node
		listed []cloud.Route
		want   map[string]step.Effect
	}{
		{"RouteThatIsThereStays", newNode(with(one.CIDR), reachable), []cloud.Route{one}, stays},
		{"OlderFieldOfTheNode", newNode(older, reachable), []cloud.Route{one}, stays},
		{"MissingRouteIsCreated", newNode(with(one.CIDR)), nil, map[string]step.Effect{"route/10.244.1.0/24": step.Create}},
		{"RouteToNoNodeGoes", newNode(), []cloud.Route{{CIDR: "10.244.9.0/24"}}, map[string]step.Effect{"route/10.244.9.0/24": step.Delete}},
		{"RouteToAnUnknownNodeGoesAtOnce", newNode(), []cloud.Route{{Node: "x", CIDR: "10.244.9.0/24"}}, map[string]step.Effect{"route/10.244.9.0/24": step.Delete}},
		{"BlackholeGoesWithoutANewRoute", newNode(with(one.CIDR), reachable), []cloud.Route{{Node: "n", CIDR: one.CIDR, Blackhole: true}}, map[string]step.Effect{"route/10.244.1.0/24": step.Delete}},
		{"CIDRThatTheNodeDoesNotHaveGoes", newNode(with("10.244.2.0/24"), reachable), []cloud.Route{one}, map[string]step.Effect{
			"route/10.244.1.0/24": step.Delete, "route/10.244.2.0/24": step.Create,
		}},
		{"RouteOutsideStays", newNode(), []cloud.Route{{CIDR: "192.168.0.0/24"}}, map[string]step.Effect{"route/192.168.0.0/24": step.None}},
		{"WiderRouteStays", newNode(), []cloud.Route{{CIDR: "10.0.0.0/8"}}, map[string]step.Effect{"route/10.0.0.0/8": step.None}},
		{"RouteThatEndsInTheClusterGoes", newNode(), []cloud.Route{{CIDR: "10.244.0.0/15"}}, map[string]step.Effect{"route/10.244.0.0/15": step.Delete}},
		{"RouteWithTheClustersLastAddressGoes", newNode(), []cloud.Route{{CIDR: "fd00::/47"}}, map[string]step.Effect{"route/fd00::/47": step.Delete}},
		{"UnreadableRouteStays", newNode(), []cloud.Route{{CIDR: "x"}}, map[string]step.Effect{"route/x": step.None}},
		{"RouteWithOldAddressesIsReplaced", newNode(with(one.CIDR), reachable), []cloud.Route{{Node: "n", CIDR: one.CIDR, Addressed: true}}, map[string]step.Effect{"route/10.244.1.0/24": step.Delete}},
		{"NodeWithoutACIDR", newNode(), nil, map[string]step.Effect{}},
		{"NodeWithRoutesAndWithoutACIDRIsUnreachable", newNode(), []cloud.Route{one}, map[string]step.Effect{"route/10.244.1.0/24": step.Delete, "node/n": step.Update}},
		{"ConditionOfAPluginIsOverwritten", newNode(with(one.CIDR), shown(corev1.ConditionFalse, "CalicoIsUp")), []cloud.Route{one}, map[string]step.Effect{
			"route/10.244.1.0/24": step.None, "node/n": step.Update,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := Table{Clusters: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:0:1::/48")}, Nodes: []*corev1.Node{tt.node}, Listed: tt.listed}
			got := map[string]step.Effect{}
			for object, fate := range Fates(table.Routes()) {
				got[object] = fate.Effect
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("effects (-want +got):\n%s", diff)
			}
		})
	}
}
