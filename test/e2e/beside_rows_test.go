package e2e

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-k8s/fairlead/simulator"
)

const (
	uninitialized = "node.cloudprovider.kubernetes.io/uninitialized:NoSchedule"
	stopTaint     = "node.cloudprovider.kubernetes.io/shutdown:NoSchedule"
	synced        = "Normal Synced: Node synced successfully"
	ensuring      = "Normal EnsuringLoadBalancer: Ensuring load balancer"
	made          = "Normal EnsuredLoadBalancer: Ensured load balancer | " + ensuring
	removed       = "Normal DeletedLoadBalancer: Deleted load balancer | Normal DeletingLoadBalancer: Deleting load balancer | "
)

// besideRows are the kinds of upstream's unit tests that events in a cluster and a cloud can
// reach. Not reached: the older interfaces, (nil, nil) as metadata and an instance without an
// ID, because the simulated provider has none of them; caches, queues and workers, which have
// no end of their own; and a Node that has two CIDRs, because the control plane has IPv4 only.
func besideRows() []besideRow { return slices.Concat(besideNodes(), besideServices()) }

const broken = "the cloud answered 500 Internal: internal error (fault "

func besideNodes() []besideRow {
	type node = corev1.Node
	type vm = simulator.Instance
	waits := look{"id": "", "place": "  ", "taints": uninitialized, "events": "", "backend": "no", "addresses": "[{Hostname *}]"}
	deleted := func(name string) string {
		return "Normal DeletingNode: Deleting node " + name + " because it does not exist in the cloud provider | " + synced
	}
	unrouted := func(name, why string) string {
		return "Warning FailedToCreateRoute: Could not create route … … for node " + name + " after …: create route for … to " + name + ": " + why
	}
	failedRoute := synced + " | " + unrouted("node-route-fails", broken+`"node-route-fails")`)
	return []besideRow{
		{"node-initialized", []besideStep{{acts: []act{joinsAs(nil)}}}},
		{"node-without-taint", []besideStep{{
			acts: []act{joinsAs(func(_ *vm, n *node) { n.Spec.Taints = nil })},
			want: look{"id": "", "place": "  ", "events": "", "backend": "no"},
		}}},
		{"node-with-id", []besideStep{{acts: []act{joinsAs(func(_ *vm, n *node) { n.Spec.ProviderID = "own" })}}}},
		{"node-other-taint", []besideStep{{acts: []act{joinsAs(func(_ *vm, n *node) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "row", Effect: corev1.TaintEffectNoSchedule})
		})}, want: look{"taints": "row:NoSchedule"}}}},
		{"node-user-zone", []besideStep{{acts: []act{joinsAs(func(_ *vm, n *node) { n.Labels[corev1.LabelTopologyZone] = "mine" })}}}},
		{"node-labels", []besideStep{{acts: []act{joinsAs(func(i *vm, n *node) {
			i.Labels = map[string]string{"row": "cloud", "row.k8s.io/x": "no", "row.kubernetes.io/x": "no", "row-kept": "cloud"}
			n.Labels["row-kept"] = "mine"
		})}, want: look{"labels": "row-kept=mine row=cloud"}}}},
		{"node-provided-ip", []besideStep{{acts: []act{joinsAs(func(i *vm, n *node) {
			i.Addresses = []simulator.Address{{Type: simulator.InternalIP, Address: "10.9.0.1"}, {Type: simulator.InternalIP, Address: "10.9.0.2"}}
			n.Annotations = map[string]string{"alpha.kubernetes.io/provided-node-ip": "10.9.0.2"}
		})}, want: look{"addresses": "[{InternalIP 10.9.0.2} {Hostname node-provided-ip}]"}}}},
		{"node-unknown-ip", []besideStep{{acts: []act{joinsAs(func(_ *vm, n *node) {
			n.Annotations = map[string]string{"alpha.kubernetes.io/provided-node-ip": "10.9.0.3"}
		})}, want: waits, ours: look{"events": "Warning CloudInitFailed: NodeIPNotOffered: *"}, differs: []string{"init-failed"}}}},
		{"node-hostname", []besideStep{{acts: []act{joinsAs(func(i *vm, _ *node) {
			i.Addresses = []simulator.Address{{Type: simulator.InternalIP, Address: "10.9.0.4"}, {Type: simulator.Hostname, Address: "cloud"}}
		})}, want: look{"addresses": "[{InternalIP 10.9.0.4} {Hostname cloud}]"}}}},
		{"node-unknown", []besideStep{{
			acts: []act{joinsAs(func(i *vm, _ *node) { i.Name = "" })},
			want: with(waits, look{
				"route": "", "network": "True NoRouteCreated",
				"events": unrouted("node-unknown", "instance named node-unknown: instance not found"),
			}),
			ours: look{"events": "Warning CloudInitFailed: InstanceNotFound: * | Warning FailedToCreateRoute: *"}, differs: []string{"init-failed"},
		}}},
		{"node-error", []besideStep{
			{
				acts: []act{fails(simulator.ListInstances, simulator.GetInstance), joinsAs(nil)},
				want: waits, ours: look{"events": "Warning CloudInitFailed: CloudUnavailable: *"}, differs: []string{"init-failed"},
			},
			{acts: []act{heals}, ours: look{"events": synced + " | Warning CloudInitFailed: CloudUnavailable: *"}, differs: []string{"init-failed"}},
		}},
		{"node-readdressed", []besideStep{
			{acts: []act{joinsAs(nil)}},
			{acts: []act{changes(simulator.InstancePatch{Addresses: []simulator.Address{{Type: simulator.InternalIP, Address: "10.9.0.5"}}})}},
		}},
		{"node-beta-zone", []besideStep{
			{acts: []act{joinsAs(nil)}},
			{
				acts: []act{patchesNode(`{"metadata":{"labels":{"failure-domain.beta.kubernetes.io/zone":"other"}}}`)}, want: look{"place": "small other sim-1"},
				ours: look{"events": synced + " | Warning CloudLocationChanged: *"}, differs: []string{"location-changed"},
			},
		}},
		{"node-ga-zone", []besideStep{
			{acts: []act{joinsAs(nil)}},
			{acts: []act{patchesNode(`{"metadata":{"labels":{"topology.kubernetes.io/zone":"other"}}}`)}},
		}},
		{"node-relabelled", []besideStep{
			{acts: []act{joinsAs(nil)}},
			{acts: []act{patchesNode(`{"metadata":{"labels":{"row":"new"}}}`)}, want: look{"labels": "row=new"}},
		}},
		{"node-gone", []besideStep{
			{acts: []act{joinsAs(nil)}},
			{acts: []act{terminates, reports("False")}, want: look{"gone": "route false, backend no", "events": deleted("node-gone") + "*"}},
		}},
		{"node-gone-unknown", []besideStep{
			{acts: []act{joinsAs(nil)}},
			{acts: []act{terminates, reports("Unknown")}, want: look{"gone": "route false, backend no", "events": deleted("node-gone-unknown") + "*"}},
		}},
		{"node-gone-ready", []besideStep{{acts: []act{joinsAs(nil)}}, {
			acts: []act{terminates},
			want: look{"route": "*", "network": "*", "events": synced + "*"},
		}}},
		{"node-silent", []besideStep{{acts: []act{joinsAs(nil)}}, {acts: []act{reports("Unknown")}}}},
		{"node-silent-error", []besideStep{
			{acts: []act{joinsAs(nil)}},
			{
				acts: []act{fails(simulator.ListInstances, simulator.GetInstance), terminates, reports("Unknown")},
				want: look{"route": "*", "network": "*", "events": synced + "*"},
			},
			{
				acts: []act{heals}, want: look{"gone": "route false, backend no", "events": "*" + synced + "*"},
				ours: look{"events": "*NodeDeletionResumed: *NodeDeletionHeld: CloudUnavailable: *"}, differs: []string{"deletion-shown"},
			},
		}},
		{"node-shutdown", []besideStep{
			{acts: []act{joinsAs(nil)}},
			{acts: []act{stops, reports("False")}, want: look{"taints": stopTaint}},
			{acts: []act{boots, reports("True")}},
		}},
		{"node-shutdown-ready", []besideStep{{acts: []act{joinsAs(nil)}}, {
			acts: []act{stops},
			want: look{"route": "*", "network": "*", "events": synced + "*"},
		}}},
		{"node-deleted", []besideStep{{acts: []act{joinsAs(nil)}}, {acts: []act{deletesNode}, want: look{"gone": "route false, backend no"}}}},
		{"node-excluded", []besideStep{
			{acts: []act{joinsAs(nil)}},
			{acts: []act{patchesNode(`{"metadata":{"labels":{"node.kubernetes.io/exclude-from-external-load-balancers":""}}}`)}, want: look{"backend": "no"}},
			{acts: []act{patchesNode(`{"metadata":{"labels":{"node.kubernetes.io/exclude-from-external-load-balancers":"false"}}}`)}},
		}},
		{"node-route-fails", []besideStep{
			{acts: []act{fails(simulator.CreateRoute), joinsAs(nil)}, want: look{"route": "", "network": "True NoRouteCreated", "events": failedRoute}},
			{acts: []act{heals}, want: look{"events": failedRoute}},
		}},
	}
}

func besideServices() []besideRow {
	none := look{"finalizer": "no", "ingress": "", "balancers": "0", "ports": "", "from": "", "affinity": "", "events": ""}
	const failed = "Warning SyncLoadBalancerFailed: Error syncing load balancer: failed to "
	notMade := failed + "ensure load balancer: create load balancer: default-service-error…: " + broken + `"service-error")`
	notRemoved := failed + "delete load balancer: delete load balancer … (default-service-undeletable…): " + broken + `"service-undeletable")`
	return []besideRow{
		{"service-of-all", []besideStep{{acts: []act{serves(nil)}}}},
		{"service-internal", []besideStep{{acts: []act{serves(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })}, want: none}}},
		{"service-of-class", []besideStep{{
			acts: []act{serves(func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("example.com/other") })},
			want: none,
		}}},
		{"service-udp", []besideStep{{
			acts: []act{serves(func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolUDP })},
			want: look{"ports": "UDP 80"},
		}}},
		{"service-sctp", []besideStep{{
			acts: []act{serves(func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolSCTP })},
			want: with(none, look{
				"finalizer": "yes",
				"events": ensuring + " | " + failed + "ensure load balancer: " +
					"spec.ports[0].protocol: load balancers of this cloud speak TCP and UDP, and not SCTP",
			}),
		}}},
		{"service-two-ports", []besideStep{
			{acts: []act{serves(nil)}},
			{
				acts: []act{edits(spec("ports", []map[string]any{{"name": "a", "port": 80}, {"name": "b", "port": 443}}))},
				want: look{"ports": "TCP 80, TCP 443"},
			},
		}},
		{"service-ranges", []besideStep{
			{acts: []act{serves(nil)}},
			{acts: []act{edits(spec("loadBalancerSourceRanges", []string{"192.0.2.0/24"}))}, want: look{"from": "192.0.2.0/24"}},
		}},
		{"service-affinity", []besideStep{{acts: []act{serves(nil)}}, {
			acts: []act{edits(spec("sessionAffinity", "ClientIP"))},
			want: look{"affinity": "3h0m0s"},
		}}},
		{"service-local", []besideStep{{acts: []act{serves(nil)}}, {
			acts: []act{edits(spec("externalTrafficPolicy", "Local"))},
			want: look{"check": "/healthz"},
		}}},
		{"service-typed-back", []besideStep{
			{acts: []act{serves(nil)}},
			{acts: []act{edits(spec("type", "ClusterIP"))}, want: with(none, look{"events": removed + made})},
			{acts: []act{edits(spec("type", "LoadBalancer"))}, want: look{"events": removed + made}},
		}},
		{"service-deleted", []besideStep{
			{acts: []act{serves(nil)}},
			{acts: []act{deletesService}, want: look{"gone": "0 balancers", "events": removed + made}},
			{acts: []act{serves(nil)}, want: look{"events": removed + made}},
		}},
		{"service-error", []besideStep{
			{acts: []act{fails(simulator.CreateLoadBalancer), serves(nil)}, want: with(none, look{"finalizer": "yes", "events": ensuring + " | " + notMade})},
			{acts: []act{heals}, want: look{"events": made + " | " + notMade}},
		}},
		{"service-undeletable", []besideStep{
			{acts: []act{serves(nil)}},
			{
				acts: []act{fails(simulator.DeleteLoadBalancer), deletesService},
				want: look{"events": "Normal DeletingLoadBalancer: Deleting load balancer | " + made + " | " + notRemoved},
			},
			{acts: []act{heals}, want: look{"gone": "0 balancers", "events": "*" + made + " | " + notRemoved}},
		}},
	}
}

// spec is a patch of one field.
func spec(field string, value any) map[string]any {
	return map[string]any{"spec": map[string]any{field: value}}
}

// with returns a look with what differs from it.
func with(l, differs look) look {
	l = maps.Clone(l)
	maps.Copy(l, differs)
	return l
}
